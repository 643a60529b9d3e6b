@main struct RegentCommand { static func main() {} }
