import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ServiceReport } from "../../src/service/dashboard/reports/service_report.ts";
import { Problem } from "../parts/problem.tsx";
import { CallError, postToService, readReport } from "../service/call.ts";
import { session } from "../service/session.ts";
import { toError } from "../service/use_report.ts";

/** Returns the path at which operators log in, if an error asks for a login or another account. */
export function loginOf(error: Error | null): string | null {
  if (!(error instanceof CallError) || (error.status !== 401 && error.status !== 403)) return null;
  const login: unknown = Object(error.problem?.details).login;
  return typeof login === "string" ? login : null;
}

/** Asks for the account of an operator. `refusal` says why the current account is not enough. */
export function LoginPage({ path, refusal, onDone }: {
  readonly path: string;
  readonly refusal: Error | null;
  readonly onDone: () => void;
}) {
  return (
    <main>
      <h1>Dashboard</h1>
      {refusal instanceof CallError && refusal.status === 403 && <Problem error={refusal} />}
      <LoginForm path={path} onDone={onDone} />
    </main>
  );
}

/** Asks for a login if the session has ended. The page below, with its edits, stays. */
export function LoginDialog({ operator, isReadOnly }: {
  readonly operator: string | null;
  readonly isReadOnly: boolean;
}) {
  const [refusal, setRefusal] = useState<Error | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const path = loginOf(refusal);
  useEffect(() => {
    let isAsking = false;
    const ask = async () => {
      // The request below can be refused, too.
      if (isAsking) return;
      isAsking = true;
      setRefusal(await readReport("service", {}).then(() => null, toError));
      isAsking = false;
    };
    session.addEventListener("refused", ask);
    return () => session.removeEventListener("refused", ask);
  }, []);
  useLayoutEffect(() => {
    if (path !== null && dialog.current?.open === false) dialog.current.showModal();
  }, [path]);
  if (path === null) return null;
  const done = (report: ServiceReport) => {
    const isSame = report.operator === operator && report.isReadOnly === isReadOnly;
    return isSame ? setRefusal(null) : location.reload();
  };
  return (
    <dialog ref={dialog} aria-labelledby="login-title" onClose={() => setRefusal(null)}>
      <h2 id="login-title">The session has ended</h2>
      <p>Log in again to continue. Unsaved changes of this page remain.</p>
      <LoginForm path={path} onDone={done} />
    </dialog>
  );
}

function LoginForm({ path, onDone }: {
  readonly path: string;
  readonly onDone: (report: ServiceReport) => void;
}) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await postToService(path, { email, password }).catch(explainLogin);
      // The contract of the dashboard says what the report has.
      onDone(await readReport("service", {}).catch(explainSession) as ServiceReport);
    } catch (thrown) {
      setError(toError(thrown));
      setIsBusy(false);
    }
  };
  return (
    <form class="form login" onSubmit={submit}>
      <label for="login-email">E-mail address</label>
      <input
        id="login-email"
        ref={first}
        type="email"
        autocomplete="username"
        required
        value={email}
        onInput={({ currentTarget }) => setEmail(currentTarget.value)}
      />
      <label for="login-password">Password</label>
      <input
        id="login-password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onInput={({ currentTarget }) => setPassword(currentTarget.value)}
      />
      {error && <Problem error={error} />}
      <div class="actions">
        <button type="submit" class="main" disabled={isBusy}>Log in</button>
      </div>
    </form>
  );
}

function explainLogin(error: unknown): never {
  if (!(error instanceof CallError) || error.status !== 429) throw error;
  throw new CallError(429, "Too many logins from this address have failed. Try again in a minute");
}

/** A browser does not keep a cookie with `Secure` of a page that was opened over HTTP. */
function explainSession(error: unknown): never {
  if (!(error instanceof CallError) || error.status !== 401) throw error;
  const place = location.protocol === "https:" ? "" : ": open the dashboard over https://";
  throw new Error(`The browser has not kept the cookie of the session${place}`);
}

/** The operator's account, with the button that ends the session. */
export function OperatorAccount({ name, logout }: {
  readonly name: string;
  readonly logout: string | null;
}) {
  const end = async (path: string) => {
    await postToService(path, {}).catch(() => {});
    location.reload();
  };
  return (
    <>
      <span class="quiet">{name}</span>
      {logout !== null && <button type="button" onClick={() => end(logout)}>Log out</button>}
    </>
  );
}
