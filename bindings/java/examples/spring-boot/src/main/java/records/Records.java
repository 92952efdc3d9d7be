// A guarded program of Spring Boot:
//
//   mvn package
//   java --enable-native-access=ALL-UNNAMED -jar target/records-1.jar --server.port=3000
//   curl -i localhost:3000/records/7                    401
//   curl -i -u visitor:words localhost:3000/records/7   403
//   curl -i -u doctor:words localhost:3000/records/7    200
//   curl -i -u nurse:words localhost:3000/records/7     200, and noted
package records;

import io.durward.Pdp;
import io.durward.spring.PdpAuthorizationManager;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class Records {
    private final Map<String, LongAdder> reads = new ConcurrentHashMap<>();

    public static void main(String[] arguments) {
        SpringApplication.run(Records.class, arguments);
    }

    @Bean
    Pdp pdp() {
        return Pdp.fromTexts(Map.of(
                "doctors.sapl",
                """
                policy "doctors read" permit
                  action == "GET"; "ROLE_doctor" in subject.authorities; resource.path =~ "^/records/[0-9]+$";
                """,
                "nurses.sapl",
                """
                policy "nurses read, and that is noted" permit
                  action == "GET"; "ROLE_nurse" in subject.authorities; resource.path =~ "^/records/[0-9]+$";
                obligation { "type": "note" }
                """));
    }

    @Bean
    SecurityFilterChain security(HttpSecurity http, Pdp pdp) throws Exception {
        // Whoever may read under an obligation, gets in when it is met.
        PdpAuthorizationManager manager = new PdpAuthorizationManager(pdp).withObligations((obligation, request) ->
                obligation.equals("{\"type\":\"note\"}") ? () -> note(request.getServletPath()) : null);
        http.authorizeHttpRequests(requests -> requests.requestMatchers("/open/**").permitAll().anyRequest().access(manager));
        http.httpBasic(Customizer.withDefaults());
        http.sessionManagement(session -> session.sessionCreationPolicy(SessionCreationPolicy.STATELESS));
        return http.build();
    }

    /** Stands for your users. */
    @Bean
    UserDetailsService users() {
        return new InMemoryUserDetailsManager(user("doctor"), user("nurse"), user("visitor"));
    }

    private static org.springframework.security.core.userdetails.UserDetails user(String name) {
        return User.withUsername(name).password("{noop}words").roles(name).build();
    }

    private void note(String path) {
        reads.computeIfAbsent(path, unknown -> new LongAdder()).increment();
    }

    @GetMapping({"/open/{number}", "/records/{number}"})
    Map<String, Integer> show(@PathVariable int number) {
        return Map.of("number", number);
    }
}
