enum RegentStoragePlaceholder {}
