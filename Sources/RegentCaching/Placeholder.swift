enum RegentCachingPlaceholder {}
