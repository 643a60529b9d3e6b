enum RegentConfigPlaceholder {}
