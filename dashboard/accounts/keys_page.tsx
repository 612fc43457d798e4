import { useReport } from "../service/use_report.ts";
import { listAt } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { listQuery, Pages, SearchForm } from "./list_parts.tsx";
import { KeyTable } from "./key_table.tsx";
import { Said, useActions } from "./use_actions.tsx";

/** The API keys of the service. */
export function KeysPage({ query }: { readonly query: URLSearchParams }) {
  const state = useReport("api-keys", listQuery(query));
  const actions = useActions(state.reload);
  return (
    <Page title="API keys">
      <SearchForm query={query} label="Name, id, user or scope" />
      <Said said={actions.said} />
      <ReportView state={state}>
        {(report) => (
          <>
            <KeyTable keys={listAt(report, "keys")} actions={actions} />
            <Pages query={query} next={Object(report).next} />
          </>
        )}
      </ReportView>
    </Page>
  );
}
