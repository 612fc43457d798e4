/**
 * The script of the service's pages for links in emails. It confirms an e-mail address, or sets a
 * new password. `src/identity/accounts/link_page.ts` contains the elements of the pages.
 */
import { createAuth, createClient, ServiceError } from "../../exports/client.ts";

const { pathname, hash } = location;
const [, basePath = "", page] = pathname.match(/^(.*)\/auth\/(verify|password\/reset)$/) ?? [];
const auth = createAuth(createClient({ baseUrl: "", basePath }));
const token = new URLSearchParams(hash.slice(1)).get("token");
const form = element("form");
const password = element<HTMLInputElement>("input");

// The token must not stay in the history of the browser.
history.replaceState(null, "", pathname);
// A further link in the same window changes only the part after `#`.
addEventListener("hashchange", () => location.reload());

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});
if (token === null) say("This link is incomplete. Open the link in your mail again.");
else if (page === "verify") void send();
else form.hidden = false;

async function send(): Promise<void> {
  say("One moment…");
  // A second submission would use the token again.
  form.inert = true;
  try {
    if (page === "verify") {
      await auth.verify({ token: token ?? "", password: password.value || undefined });
      say("Your account is ready. You can log in now.");
    } else {
      await auth.resetPassword({ token: token ?? "", password: password.value });
      say("Your new password is set. You can log in now.");
    }
    form.hidden = true;
    element("#other").hidden = true;
    element("#next").hidden = false;
  } catch (error) {
    showError(error);
  } finally {
    form.inert = false;
  }
}

function showError(error: unknown): void {
  const problem = error instanceof ServiceError ? error.problem : null;
  const errors = problem?.details?.errors;
  const { path, message } = Object(Array.isArray(errors) ? errors[0] : null);
  form.hidden = path === "token";
  // The account may exist already, and new links come from the page on which users log in.
  element("#next").hidden = path !== "token";
  const other = element("#other");
  other.hidden = path !== "password";
  // The page for another password accepts the token of a signup, too.
  for (const link of other.querySelectorAll("a")) link.hash = `token=${token}`;
  if (path === "token") say("This link was already used or has expired. Request another one.");
  else if (path === "password") say(`The password ${message}.`);
  else say(problem?.detail ?? "The service did not respond. Try again.");
}

function say(text: string): void {
  element("[role=status]").textContent = text;
}

/** Returns an element that the page always contains. */
function element<Kind extends HTMLElement = HTMLElement>(selector: string): Kind {
  const found = document.querySelector<Kind>(selector);
  if (found === null) throw new Error(`The page has no ${selector}`);
  return found;
}
