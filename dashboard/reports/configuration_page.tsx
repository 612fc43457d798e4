import { useFacts } from "../service/facts.ts";
import { Facts } from "../parts/facts.tsx";
import { Page } from "../parts/report_view.tsx";

/** The configuration of the service, its secrets masked. */
export function ConfigurationPage() {
  const { name, version, environment, isReadOnly, features, configuration } = useFacts();
  return (
    <Page title="Configuration">
      <Facts
        record={{
          name,
          version,
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
      <h2>Options</h2>
      <p class="quiet">Secrets are masked.</p>
      <pre class="code" tabIndex={0}>{JSON.stringify(configuration, null, 2)}</pre>
    </Page>
  );
}
