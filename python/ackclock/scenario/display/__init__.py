"""A scenario for its readers: pictures, descriptions, the JSON schema."""
