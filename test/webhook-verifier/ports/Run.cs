using System;
using System.Linq;
using System.Text;

public static class Run
{
    public static void Main()
    {
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine())
        {
            var fields = line.Split(' ').Select(Bytes).ToArray();
            try
            {
                Console.WriteLine(WebhookVerifier.Verify(fields[0], Encoding.UTF8.GetString(fields[1]), Encoding.UTF8.GetString(fields[2])) ? 1 : 0);
            }
            catch (ArgumentException)
            {
                Console.WriteLine(0);
            }
        }
    }

    private static byte[] Bytes(string hex)
    {
        return Enumerable.Range(0, hex.Length / 2).Select(i => Convert.ToByte(hex.Substring(2 * i, 2), 16)).ToArray();
    }
}
