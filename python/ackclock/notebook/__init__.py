"""What a notebook shows: tables, small charts and progress. Nothing here needs a notebook to be there."""
