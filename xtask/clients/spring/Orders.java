import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Import;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Says what it knows of its user, and of whoever calls its API. What guards it is the manual's (`Security`). */
@EnableAutoConfiguration
@Import(Security.class)
@RestController
public class Orders {
    public static void main(String[] arguments) {
        SpringApplication.run(Orders.class, arguments);
    }

    /** Spring refreshes the token first where it has expired, or will within a minute. */
    @GetMapping("/")
    Map<String, Object> page(
            @AuthenticationPrincipal OidcUser user,
            @RegisteredOAuth2AuthorizedClient("durward") OAuth2AuthorizedClient client) {
        return Map.of(
                "user", user.getName(),
                "claims", user.getUserInfo().getClaims(),
                "id_token", user.getIdToken().getTokenValue(),
                "access_token", client.getAccessToken().getTokenValue());
    }

    @GetMapping("/bye")
    String bye() {
        return "signed out";
    }

    @GetMapping("/api/me")
    Map<String, Object> me(@AuthenticationPrincipal Jwt token) {
        return Map.of("user", token.getSubject(), "for", token.getAudience());
    }
}
