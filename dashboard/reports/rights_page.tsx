import { type ResourceDescription, useFacts } from "../service/facts.ts";
import { href } from "../shell/route.ts";
import { parseUser } from "../shell/view_as.tsx";
import { type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page } from "../parts/report_view.tsx";
import { RightsOfUser } from "./rights_of_user.tsx";

const accesses = ["read", "create", "update", "delete", "subscribe"] as const;

/** Who may do what with each resource, and which rows a user reaches if one is viewed. */
export function RightsPage({ query }: { readonly query: URLSearchParams }) {
  const { resources } = useFacts();
  const viewed = query.get("as");
  const columns: readonly RecordColumn<ResourceDescription>[] = [
    {
      name: "path",
      title: "resource",
      show: ({ place, title }) => <a href={href(place)}>{title}</a>,
    },
    ...accesses.map((access) => ({
      name: access,
      show: ({ rights, policies }: ResourceDescription) => (
        <Right value={rights[access]} policy={policies[access]} />
      ),
    })),
    { name: "hidden", title: "hidden fields", show: hiddenFields },
  ];
  return (
    <Page title="Rights">
      <p class="quiet">
        Who may do what, by the configuration. The dashboard has its own rights. “View as …” shows
        the rows that a user reaches, and why.
      </p>
      {viewed !== null && <RightsOfUser user={parseUser(viewed)} resources={resources} />}
      <RecordTable
        label="Rights by resource"
        columns={columns}
        records={resources}
        empty="This service has no resources."
      />
    </Page>
  );
}

function Right({ value, policy }: {
  readonly value: ResourceDescription["rights"]["read"];
  readonly policy: string | undefined;
}) {
  const look = value === "nobody" ? "quiet" : value.includes("everyone") ? "tag warn" : "tag";
  return (
    <>
      <span class={look}>{value}</span>
      {policy !== undefined && <div>{policy}</div>}
    </>
  );
}

function hiddenFields({ fields }: ResourceDescription): string {
  return fields.filter(({ hidden }) => hidden).map(({ name }) => name).join(", ") || "–";
}
