import { type SubmitEvent, useEffect, useState } from "react";
import { rsql } from "@svc/resource-api-client";
import { useLive, useLiveList } from "@svc/resource-api-client/react";
import type { Lists as List } from "./api.d.ts";
import { api, auth } from "./client.ts";

export function App() {
  const { user, status, error } = useLive(auth);
  if (status === "unknown") {
    return <p role="status">{error?.message ?? "Connecting…"}</p>;
  }
  if (user === null) return <Account />;
  return (
    <>
      <header>
        {user.email} <button type="button" onClick={() => auth.logOut()}>Log out</button>
      </header>
      <Lists />
    </>
  );
}

function Account() {
  const { refusal, run } = useRequest();
  return (
    <form
      onSubmit={(event) => {
        const { email = "", password = "" } = fieldsOf(event);
        const isSignup = event.nativeEvent.submitter?.getAttribute("value") === "signup";
        run(
          isSignup ? auth.signUp({ email, password }) : auth.logIn({ email, password }),
        );
      }}
    >
      <h1>my-app</h1>
      <input
        name="email"
        type="email"
        placeholder="E-mail"
        autoComplete="username"
        required
      />
      <input
        name="password"
        type="password"
        placeholder="Password, 15 characters or more"
        autoComplete="current-password"
        minLength={15}
        required
      />
      <button value="login">Log in</button> <button value="signup">Sign up</button>
      <Refusal>{refusal}</Refusal>
    </form>
  );
}

/** The lists of the user, with every change of every other page. */
function Lists() {
  const { items, status } = useLiveList(api.lists, { orderBy: ["title"] });
  // The session has ended elsewhere: without a user, the page shows the form of the account.
  useEffect(() => {
    if (status === "needs-auth") auth.refresh().catch(() => {});
  }, [status]);
  const { refusal, run } = useRequest();
  return (
    <main>
      <h1>
        Lists <small role="status">{status}</small>
      </h1>
      {items.map((list) => <Tasks key={list.id} list={list} />)}
      <form
        onSubmit={(event) => {
          const { title = "" } = fieldsOf(event);
          run(api.lists.create({ title }), event.currentTarget);
        }}
      >
        <input name="title" placeholder="A new list" maxLength={100} required />
      </form>
      <Refusal>{refusal}</Refusal>
    </main>
  );
}

function Tasks({ list }: { list: List }) {
  const { items } = useLiveList(api.tasks, {
    filter: rsql`listId==${list.id}`,
    orderBy: ["createdAt"],
  });
  const { refusal, run } = useRequest();
  return (
    <section aria-label={list.title}>
      <h2>{list.title}</h2>
      <ul>
        {items.map(({ id, title, status }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={status === "done"}
                onChange={({ target }) =>
                  run(
                    api.tasks.update(id, {
                      status: target.checked ? "done" : "open",
                    }),
                  )}
              />{" "}
              {title}
            </label>
          </li>
        ))}
      </ul>
      <form
        onSubmit={(event) => {
          const { title = "" } = fieldsOf(event);
          run(api.tasks.create({ listId: list.id, title }), event.currentTarget);
        }}
      >
        <input name="title" placeholder="A new task" maxLength={200} required />
      </form>
      <Refusal>{refusal}</Refusal>
    </section>
  );
}

/** Runs requests, and keeps the reason if the service refuses one. Empties the form of the others. */
function useRequest() {
  const [refusal, setRefusal] = useState("");
  const run = (request: Promise<unknown>, form?: HTMLFormElement) =>
    request.then(
      () => {
        setRefusal("");
        form?.reset();
      },
      (error) => setRefusal(error.problem?.detail ?? error.message),
    );
  return { refusal, run };
}

function Refusal({ children }: { children: string }) {
  return children === "" ? null : <p role="alert">{children}</p>;
}

function fieldsOf(event: SubmitEvent<HTMLFormElement>): Record<string, string> {
  event.preventDefault();
  const fields = [...new FormData(event.currentTarget)];
  return Object.fromEntries(
    fields.map(([name, value]) => [name, String(value)]),
  );
}
