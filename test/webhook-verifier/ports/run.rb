require ARGV.shift

$stdin.each_line do |line|
  body, signature, secret = line.chomp.split(/ /, -1).map { |field| [field].pack('H*') }
  begin
    puts verify(body, signature, [secret]) ? 1 : 0
  rescue ArgumentError
    puts 0
  end
end
