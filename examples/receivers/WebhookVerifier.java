import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class WebhookVerifier {
    /** Returns true if one of the secrets produced the signature of the raw body. Throws if a secret is empty. Java 17. */
    public static boolean verify(byte[] body, String signature, List<String> secrets) throws GeneralSecurityException {
        if (signature == null || !signature.matches("[0-9a-f]{64}")) return false;
        byte[] sent = HexFormat.of().parseHex(signature);
        for (String secret : secrets) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            if (MessageDigest.isEqual(mac.doFinal(body), sent)) return true;
        }
        return false;
    }
}
