import { useReport } from "../service/use_report.ts";
import { href } from "../shell/route.ts";
import { formatValue } from "../parts/format.ts";
import { listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { accountPlace, listQuery, Pages, SearchForm } from "./list_parts.tsx";

/** The accounts of the service. */
export function AccountsPage({ query }: { readonly query: URLSearchParams }) {
  const state = useReport("accounts", listQuery(query));
  return (
    <Page title="Accounts">
      <SearchForm query={query} label="E-mail address, name, id or role" />
      <ReportView state={state}>
        {(report) => (
          <>
            <RecordTable
              label="Accounts"
              columns={[
                {
                  name: "email",
                  title: "e-mail address",
                  show: ({ id, email }) => <a href={href(accountPlace(id))}>{formatValue(email)}
                  </a>,
                },
                { name: "name" },
                { name: "roles", show: ({ roles }) => rolesText(roles) || "–" },
                {
                  name: "isDisabled",
                  title: "state",
                  show: ({ isDisabled }) =>
                    isDisabled ? <span class="tag warn">disabled</span> : "active",
                },
                { name: "createdAt", title: "created", kind: "time" },
              ]}
              records={listAt(report, "accounts")}
              empty="No account on this page matches."
            />
            <Pages query={query} next={Object(report).next} />
          </>
        )}
      </ReportView>
    </Page>
  );
}

/** The roles as one line, as the form of roles accepts it. */
export function rolesText(roles: unknown): string {
  return Array.isArray(roles) ? roles.map(String).join(", ") : "";
}
