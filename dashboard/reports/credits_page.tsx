import { useState } from "preact/hooks";
import { useReport } from "../service/use_report.ts";
import { changeQuery } from "../shell/route.ts";
import { Facts } from "../parts/facts.tsx";
import { columnsOf, listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The credits of an account. */
export function CreditsPage({ query }: { readonly query: URLSearchParams }) {
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
