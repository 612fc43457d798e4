import { useReport } from "../service/use_report.ts";
import { columnsOf, listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";

/** The identities that have spent the largest parts of their budgets. */
export function BudgetsPage() {
  const state = useReport("budgets", {}, 3_000);
  return (
    <Page title="Budgets">
      <ReportView state={state}>
        {(report) => {
          const lists = Object.keys(Object(report)).filter((name) =>
            Array.isArray(Object(report)[name])
          );
          return lists.map((name) => {
            const records = listAt(report, name);
            return (
              <section key={name}>
                <h2>{name}</h2>
                <RecordTable
                  label={name}
                  columns={columnsOf(records)}
                  records={records}
                  empty="Nothing was spent."
                />
              </section>
            );
          });
        }}
      </ReportView>
    </Page>
  );
}
