enum HTTPDate { static func parse(_ value: ArraySlice<UInt8>) -> Int64? { nil } }
