"""Many runs: played once each, into memory or into a directory that keeps them."""
