require 'openssl'

# Returns true if one of the secrets produced the signature of the raw body.
def verify(body, signature, secrets)
  raise ArgumentError, 'A webhook secret is missing or empty.' if secrets.empty? || secrets.any? { |secret| secret.to_s.empty? }
  return false unless signature.to_s.match?(/\A[0-9a-f]{64}\z/)

  secrets.any? do |secret|
    OpenSSL.fixed_length_secure_compare(OpenSSL::HMAC.hexdigest('SHA256', secret, body), signature)
  end
end
