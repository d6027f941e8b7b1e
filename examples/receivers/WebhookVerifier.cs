using System;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class WebhookVerifier
{
    /// <summary>Returns true if one of the secrets produced the signature of the raw body.</summary>
    public static bool Verify(byte[] body, string signature, params string[] secrets)
    {
        if (!Regex.IsMatch(signature ?? "", @"\A[0-9a-f]{64}\z")) return false;
        var sent = Encoding.ASCII.GetBytes(signature);
        foreach (var secret in secrets)
        {
            if (string.IsNullOrEmpty(secret)) throw new ArgumentException("A webhook secret is missing or empty.");
            using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
            {
                var hex = BitConverter.ToString(hmac.ComputeHash(body)).Replace("-", "").ToLowerInvariant();
                if (CryptographicOperations.FixedTimeEquals(Encoding.ASCII.GetBytes(hex), sent)) return true;
            }
        }
        return false;
    }
}
