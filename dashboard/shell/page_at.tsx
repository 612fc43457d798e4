import { resourceAt, useFacts } from "../service/facts.ts";
import { keyOfText } from "../service/resources.ts";
import { AccountPage } from "../accounts/account_page.tsx";
import { AccountsPage } from "../accounts/accounts_page.tsx";
import { KeysPage } from "../accounts/keys_page.tsx";
import { decodePart } from "../service/names.ts";
import { DataPage } from "../data/data_page.tsx";
import { RowPage } from "../row/row_page.tsx";
import { OverviewPage } from "../overview/overview_page.tsx";
import { AuditPage } from "../reports/audit_page.tsx";
import { BudgetsPage } from "../reports/budgets_page.tsx";
import { ConfigurationPage } from "../reports/configuration_page.tsx";
import { CreditsPage } from "../reports/credits_page.tsx";
import { FilterPage } from "../reports/filter_page.tsx";
import { OutboxPage } from "../reports/outbox_page.tsx";
import { ProblemsPage } from "../reports/problems_page.tsx";
import { RightsPage } from "../reports/rights_page.tsx";
import { LoadPage } from "../requests/load_page.tsx";
import { RequestsPage } from "../requests/requests_page.tsx";
import { StatementsPage } from "../requests/statements_page.tsx";
import { StreamsPage } from "../reports/streams_page.tsx";
import { Page } from "../parts/report_view.tsx";
import type { Route } from "./route.ts";

/** The page of a place. */
export function PageAt({ route }: { readonly route: Route }) {
  const facts = useFacts();
  const { path, query } = route;
  const [page = "", name = "", key] = path;
  switch (page) {
    case "":
      return <OverviewPage />;
    case "data": {
      const resource = resourceAt(facts, name);
      if (resource === null) return <Missing what={`There is no resource ${name}.`} />;
      if (key === undefined) {
        return <DataPage key={resource.path} {...{ resource, path: path.join("/"), query }} />;
      }
      const place = path.join("/");
      const isNew = key === "+new";
      const rowKey = isNew ? null : keyOfText(key);
      if (rowKey === null && !isNew) return <Missing what={`The key ${key} is malformed.`} />;
      return <RowPage key={place} {...{ resource, rowKey, place }} set={query.get("set")} />;
    }
    case "rights":
      return <RightsPage query={query} />;
    case "filter":
      return <FilterPage query={query} />;
    case "streams":
      return <StreamsPage />;
    case "outbox":
      return <OutboxPage />;
    case "credits":
      return <CreditsPage query={query} />;
    case "budgets":
      return <BudgetsPage />;
    case "accounts":
      return name === ""
        ? <AccountsPage query={query} />
        : <AccountPage key={name} id={decodePart(name) ?? name} />;
    case "keys":
      return <KeysPage query={query} />;
    case "requests":
      return <RequestsPage query={query} />;
    case "load":
      return <LoadPage query={query} />;
    case "statements":
      return <StatementsPage />;
    case "problems":
      return <ProblemsPage />;
    case "audit":
      return <AuditPage />;
    case "configuration":
      return <ConfigurationPage />;
    default:
      return <Missing what="There is no such page." />;
  }
}

function Missing({ what }: { readonly what: string }) {
  return (
    <Page title="Not found">
      <p>{what}</p>
    </Page>
  );
}
