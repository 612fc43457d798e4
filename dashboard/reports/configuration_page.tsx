import { useFacts } from "../service/facts.ts";
import { Facts } from "../parts/facts.tsx";
import { Page } from "../parts/report_view.tsx";

/** The name, the environment and the parts of the service. */
export function ConfigurationPage() {
  const { name, version, build, databases, environment, isReadOnly, features } = useFacts();
  return (
    <Page title="Configuration">
      <Facts
        record={{
          name,
          "version of the API": version,
          "version of resource-api": build,
          databases: databases.join(", "),
          environment,
          dashboard: isReadOnly ? "read-only" : "reads and writes",
        }}
      />
      <h2>Parts</h2>
      <Facts
        record={Object.fromEntries(
          Object.entries(features).map(([part, isOn]) => [part, isOn ? "on" : "off"]),
        )}
      />
    </Page>
  );
}
