import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class WebhookVerifier {
    /** True when one of the secrets signed the raw bytes of the body. Throws when a secret is empty. Java 17. */
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
