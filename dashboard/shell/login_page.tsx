import { useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { CallError, postToService } from "../service/call.ts";
import { toError } from "../service/use_report.ts";

/** Returns the path at which operators log in, if an error asks for a login. */
export function loginOf(error: Error | null): string | null {
  if (!(error instanceof CallError) || error.status !== 401) return null;
  const login: unknown = Object(error.problem?.details).login;
  return typeof login === "string" ? login : null;
}

/** Asks for the account of an operator. `onDone` is called after the login. */
export function LoginPage({ path, onDone }: {
  readonly path: string;
  readonly onDone: () => void;
}) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await postToService(path, { email, password });
      onDone();
    } catch (thrown) {
      setError(toError(thrown));
      setIsBusy(false);
    }
  };
  return (
    <main>
      <h1>Dashboard</h1>
      <form class="form login" onSubmit={submit}>
        <label for="login-email">E-mail address</label>
        <input
          id="login-email"
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
    </main>
  );
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
