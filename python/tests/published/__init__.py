"""Lists of published training code, written anew by their authors' parameters: ``self_supervised.py`` and ``supervised.py``."""
