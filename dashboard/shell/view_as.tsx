import { readWithStrings } from "../row/document_text.ts";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { act } from "../service/call.ts";
import { useFacts } from "../service/facts.ts";
import { operatorRows, viewedRows } from "../service/resources.ts";
import { RowsContext, type ViewedUser } from "../service/use_rows.ts";
import { toError } from "../service/use_report.ts";
import { Problem } from "../parts/problem.tsx";
import { href, parseRoute } from "./route.ts";

/**
 * Reads rows as the operator, or, where the URL names a user, with the rights of that user: the
 * token for that is asked for, and never in a URL.
 */
export function ViewAs({ text, children }: {
  readonly text: string | null;
  readonly children: ComponentChildren;
}) {
  const { isReadOnly, basePath } = useFacts();
  const [token, setToken] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const user = useMemo(() => text === null ? null : parseUser(text), [text]);
  useEffect(() => {
    setToken(null);
    setError(null);
    if (text === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hasEnded = false;
    const ask = () =>
      act("view-as", { user }).then((answer) => {
        if (hasEnded) return;
        // The contract of the action says what it gives.
        const { token, expiresAt } = answer as { token: string; expiresAt: number };
        setToken(token);
        timer = setTimeout(ask, Math.max(expiresAt - Date.now() - 30_000, 10_000));
      }).catch((error) => hasEnded || setError(toError(error)));
    void ask();
    return () => {
      hasEnded = true;
      clearTimeout(timer);
    };
  }, [text]);
  const access = useMemo(() => ({
    rows: token === null ? operatorRows : viewedRows(token, basePath),
    mayWrite: text === null && !isReadOnly,
  }), [token, text === null]);
  const isReady = text === null || token !== null;
  return (
    <>
      {text !== null && <Banner user={user} />}
      {error && <Problem error={error} what="Cannot view as this user" />}
      <RowsContext.Provider value={access}>{isReady && children}</RowsContext.Provider>
    </>
  );
}

function Banner({ user }: { readonly user: ViewedUser | null }) {
  return (
    <div class="banner" role="status">
      <span>
        Viewing as{" "}
        <strong>{user?.id ?? "a caller without a credential"}</strong>, with the rights of this
        user. Nothing can be written.
      </span>
      <a href={href(parseRoute(location.hash).path.join("/"), { as: null })}>Exit</a>
    </div>
  );
}

/** A user as the URL has one: JSON, or the id alone; null is a caller without a credential. */
export function parseUser(text: string): ViewedUser | null {
  try {
    const value: unknown = readWithStrings(text);
    if (value === null) return null;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const { id } = Object(value);
      return { ...value, id: String(id ?? "") };
    }
  } catch {
    // An id, such as ada.
  }
  return { id: text };
}
