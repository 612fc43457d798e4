import { type ResourceDescription, useFacts } from "../service/facts.ts";
import { href } from "../shell/route.ts";
import { type RecordColumn, RecordTable } from "../parts/record_table.tsx";
import { Page } from "../parts/report_view.tsx";

const accesses = ["read", "create", "update", "delete", "subscribe"] as const;

/** Who may do what with each resource. */
export function RightsPage() {
  const { resources } = useFacts();
  const columns: readonly RecordColumn<ResourceDescription>[] = [
    {
      name: "path",
      title: "resource",
      show: ({ path }) => <a href={href(`data/${path}`)}>{path}</a>,
    },
    ...accesses.map((access) => ({
      name: access,
      show: ({ rights }: ResourceDescription) => <Right value={rights[access]} />,
    })),
    { name: "hidden", title: "hidden fields", show: hiddenFields },
  ];
  return (
    <Page title="Rights">
      <p class="quiet">Who may do what, by the configuration. The dashboard has its own rights.</p>
      <RecordTable
        label="Rights by resource"
        columns={columns}
        records={resources}
        empty="This service has no resources."
      />
    </Page>
  );
}

function Right({ value }: { readonly value: ResourceDescription["rights"]["read"] }) {
  const look = value === "nobody" ? "quiet" : value.includes("everyone") ? "tag warn" : "tag";
  return <span class={look}>{value}</span>;
}

function hiddenFields({ fields }: ResourceDescription): string {
  return fields.filter(({ hidden }) => hidden).map(({ name }) => name).join(", ") || "–";
}
