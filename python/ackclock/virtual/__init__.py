"""The engine ``kernel-vt``: a Linux kernel that was built for it (User-Mode Linux), in virtual time."""
