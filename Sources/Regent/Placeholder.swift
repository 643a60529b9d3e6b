enum RegentPlaceholder {}
