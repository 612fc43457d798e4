import { useState } from "preact/hooks";
import { useFacts } from "../service/facts.ts";
import { useReport } from "../service/use_report.ts";
import { href } from "../shell/route.ts";
import { Facts } from "../parts/facts.tsx";
import { formatValue } from "../parts/format.ts";
import { listAt, RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { rolesText } from "./accounts_page.tsx";
import { KeyTable } from "./key_table.tsx";
import { type Actions, Said, useActions } from "./use_actions.tsx";

/** An account with its sessions and its API keys. */
export function AccountPage({ id }: { readonly id: string }) {
  const state = useReport("account", { id });
  const actions = useActions(state.reload);
  return (
    <Page title="Account">
      <p class="trail">
        <a href={href("accounts")}>Accounts</a>
      </p>
      <Said said={actions.said} />
      <ReportView state={state}>
        {(report) => {
          const { account, keys, isComplete } = Object(report);
          return (
            <>
              <Facts record={shownFacts(account)} />
              <AccountActions account={account} actions={actions} />
              <h2>Sessions</h2>
              {isComplete !== true && (
                <p class="quiet">
                  The service has too many sessions: sessions can be missing here. “End all
                  sessions” also ends the missing sessions.
                </p>
              )}
              <SessionTable {...{ id, actions }} sessions={listAt(report, "sessions")} />
              {keys !== null && (
                <>
                  <h2>API keys</h2>
                  <KeyTable keys={listAt(report, "keys")} actions={actions} />
                </>
              )}
            </>
          );
        }}
      </ReportView>
    </Page>
  );
}

function shownFacts(account: Readonly<Record<string, unknown>>) {
  const { id, email, name, roles, isDisabled, createdAt } = account;
  const state = isDisabled ? "disabled" : "active";
  return { id, "e-mail address": email, name, roles: rolesText(roles) || null, state, createdAt };
}

function AccountActions({ account: { id, email, roles, isDisabled }, actions }: {
  readonly account: Readonly<Record<string, unknown>>;
  readonly actions: Actions;
}) {
  const { isReadOnly } = useFacts();
  const [text, setText] = useState(rolesText(roles));
  if (isReadOnly) return null;
  const who = formatValue(email);
  return (
    <form
      class="form row"
      onSubmit={(event) => {
        event.preventDefault();
        const roles = text.split(/[\s,]+/).filter((role) => role !== "");
        void actions.run("account-roles", { account: id, roles }, "The roles are saved.");
      }}
    >
      <label class="grows">
        Roles, separated by commas
        <input
          value={text}
          autocomplete="off"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="actions">
        <button type="submit">Save the roles</button>
        <button
          type="button"
          class="danger"
          onClick={() =>
            actions.ask(
              `End all sessions of ${who}?`,
              "account-end-sessions",
              { account: id },
              "All sessions are ended.",
            )}
        >
          End all sessions …
        </button>
        {isDisabled
          ? (
            <button
              type="button"
              onClick={() =>
                actions.run("account-enable", { account: id }, "The account is enabled.")}
            >
              Enable
            </button>
          )
          : (
            <button
              type="button"
              class="danger"
              onClick={() =>
                actions.ask(
                  `Disable ${who} and end all sessions?`,
                  "account-disable",
                  { account: id },
                  "The account is disabled.",
                )}
            >
              Disable …
            </button>
          )}
      </div>
    </form>
  );
}

function SessionTable({ id, sessions, actions }: {
  readonly id: string;
  readonly sessions: readonly Readonly<Record<string, unknown>>[];
  readonly actions: Actions;
}) {
  const { isReadOnly } = useFacts();
  return (
    <RecordTable
      label="Sessions"
      columns={[
        { name: "beganAt", title: "login", kind: "time" },
        { name: "seenAt", title: "last use", kind: "time" },
        { name: "endsAt", title: "ends", kind: "time" },
        {
          name: "end",
          title: "action",
          show: ({ id: session }) => (
            <button
              type="button"
              disabled={isReadOnly}
              onClick={() =>
                actions.run(
                  "account-end-session",
                  { account: id, session },
                  "The session is ended.",
                )}
            >
              End
            </button>
          ),
        },
      ]}
      records={sessions}
      empty="This account has no session."
    />
  );
}
