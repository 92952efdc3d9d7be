import io.durward.Decision;
import io.durward.Pdp;
import java.util.Map;

class Doctors {
    public static void main(String[] arguments) {
        String policy = "policy \"doctors\" permit subject.role == \"doctor\"; obligation { \"log\": resource }";
        try (Pdp pdp = Pdp.fromTexts(Map.of("doctors.sapl", policy))) {
            Decision decision = pdp.decide("""
                    {"subject": {"role": "doctor"}, "action": "read", "resource": "record"}""");
            // Grant access only if the outcome is PERMIT and you meet the obligations.
            System.out.println(decision.outcome() + " " + decision.obligations());
        }
    }
}
