import { useFacts } from "../service/facts.ts";
import { href } from "../shell/route.ts";
import { formatValue } from "../parts/format.ts";
import { RecordTable } from "../parts/record_table.tsx";
import { rolesText } from "./accounts_page.tsx";
import { accountPlace } from "./list_parts.tsx";
import type { Actions } from "./use_actions.tsx";

/** API keys, each with a button that revokes the key. */
export function KeyTable({ keys, actions }: {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
  readonly actions: Actions;
}) {
  const { isReadOnly, features } = useFacts();
  return (
    <RecordTable
      label="API keys"
      columns={[
        { name: "name" },
        { name: "id", title: "begins with", show: ({ id }) => <code>key_{formatValue(id)}</code> },
        {
          name: "userId",
          title: "user",
          show: ({ userId }) =>
            userId === null || !features.accounts
              ? formatValue(userId ?? "–")
              : <a href={href(accountPlace(userId))}>{formatValue(userId)}</a>,
        },
        { name: "scopes", show: ({ scopes }) => rolesText(scopes) || "–" },
        { name: "lastUsedAt", title: "last use", kind: "time" },
        { name: "expiresAt", title: "expires", kind: "time" },
        {
          name: "revoke",
          title: "action",
          show: ({ id, name }) => (
            <button
              type="button"
              class="danger"
              disabled={isReadOnly}
              onClick={() =>
                actions.ask(
                  `Revoke the API key ${formatValue(name)}?`,
                  "key-revoke",
                  { key: id },
                  "The API key is revoked.",
                )}
            >
              Revoke …
            </button>
          ),
        },
      ]}
      records={keys}
      empty="There are no API keys."
    />
  );
}
