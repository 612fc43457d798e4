import { useState } from "preact/hooks";
import { useFacts } from "../service/facts.ts";
import { useReport } from "../service/use_report.ts";
import { changeQuery } from "../shell/route.ts";
import { Facts } from "../parts/facts.tsx";
import { columnsOf, listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The credits of an account, and the last deliveries of the provider of payments. */
export function CreditsPage({ query }: { readonly query: URLSearchParams }) {
  const { features } = useFacts();
  const account = query.get("account") ?? "";
  const [text, setText] = useState(account);
  return (
    <Page title="Credits">
      <form
        class="form row"
        onSubmit={(event) => {
          event.preventDefault();
          changeQuery({ account: text.trim() || null });
        }}
      >
        <label>
          Account
          <input
            value={text}
            autocomplete="off"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button type="submit" class="main">Show</button>
        </div>
      </form>
      {account === ""
        ? <p class="quiet">Name an account to see its balance and its entries.</p>
        : <Account account={account} />}
      {features.webhooks && <Webhooks />}
    </Page>
  );
}

function Account({ account }: { readonly account: string }) {
  const state = useReport("credits", { account });
  return (
    <ReportView state={state}>
      {(report) => {
        const { entries: _entries, ...facts } = Object(report);
        const entries = listAt(report, "entries");
        return (
          <>
            <Facts record={facts} />
            <h2>Entries</h2>
            <RecordTable
              label="Entries"
              columns={columnsOf(entries)}
              records={entries}
              empty="This account has no entries."
            />
          </>
        );
      }}
    </ReportView>
  );
}

function Webhooks() {
  const state = useReport("webhooks", {}, 3_000);
  return (
    <>
      <h2>Webhooks</h2>
      <ReportView state={state}>
        {(report) => (
          <RecordTable
            label="Webhooks"
            columns={[
              { name: "at", kind: "time" },
              { name: "outcome" },
              { name: "id" },
              { name: "events" },
              { name: "reason" },
            ]}
            records={listAt(report, "deliveries")}
            empty="Nothing was delivered to this process."
          />
        )}
      </ReportView>
    </>
  );
}
