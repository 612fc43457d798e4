import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ServiceReport } from "../../src/service/dashboard/reports/service_report.ts";
import { FactsContext, readFacts, resourceAt, useFacts } from "../service/facts.ts";
import { useReport } from "../service/use_report.ts";
import { ListPlaces, PlacesContext } from "../data/list_places.ts";
import { LeaveDialog } from "../edits/leave_dialog.tsx";
import { EditsContext, UnsavedEdits } from "../edits/unsaved_edits.ts";
import { ReportView } from "../parts/report_view.tsx";
import { LoginDialog, loginOf, LoginPage, OperatorAccount } from "./login_page.tsx";
import { Navigation } from "./navigation.tsx";
import { PageAt } from "./page_at.tsx";
import { type Route, useRoute } from "./route.ts";
import { useKeys } from "./use_keys.ts";
import { ViewAs } from "./view_as.tsx";
import { ViewAsDialog } from "./view_as_dialog.tsx";

/** The dashboard. */
export function App() {
  const facts = useReport<ServiceReport>("service");
  const read = useMemo(() => facts.data && readFacts(facts.data), [facts.data]);
  const login = loginOf(facts.error);
  // Later, a dialog asks for the login, so that the page with its edits stays.
  if (login !== null && read === null) {
    return <LoginPage path={login} refusal={facts.error} onDone={() => location.reload()} />;
  }
  if (read === null) {
    return (
      <main>
        <h1>Dashboard</h1>
        <ReportView state={facts}>{() => null}</ReportView>
      </main>
    );
  }
  return (
    <FactsContext.Provider value={read}>
      <Shell />
    </FactsContext.Provider>
  );
}

function Shell() {
  const { name, databases, environment, isReadOnly, operator, logout, resources } = useFacts();
  const [edits] = useState(() => new UnsavedEdits());
  const [places] = useState(() => new ListPlaces());
  const { route, leaving } = useRoute(edits);
  const [isOpen, setIsOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const place = route.path.join("/");
  useKeys(resources[0]?.place);
  useTitle(route);
  useEffect(() => {
    setIsOpen(false);
    main.current?.scrollTo(0, 0);
  }, [place]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => skipTo(event, main.current)}>
        Skip to the content
      </a>
      <header>
        <button
          type="button"
          class="menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setIsOpen(!isOpen)}
        >
          Menu
        </button>
        <strong>{name || "Service"}</strong>
        <span class="quiet version">{databases.join(", ")}</span>
        <span class={`tag ${environment === "production" ? "warn" : ""}`}>{environment}</span>
        {isReadOnly && <span class="tag">read-only</span>}
        <ViewAsDialog />
        {operator !== null && <OperatorAccount name={operator} logout={logout} />}
      </header>
      <LoginDialog operator={operator} isReadOnly={isReadOnly} />
      <div id="navigation" class={isOpen ? "open" : ""}>
        <Navigation current={navigationPlace(route)} />
      </div>
      <main id="main" ref={main} tabIndex={0}>
        <ViewAs text={route.query.get("as")}>
          <EditsContext.Provider value={edits}>
            <PlacesContext.Provider value={places}>
              <PageAt route={route} />
            </PlacesContext.Provider>
          </EditsContext.Provider>
        </ViewAs>
      </main>
      {leaving && (
        <LeaveDialog
          onStay={() => leaving.stay()}
          onKeep={leaving.keep}
          onDiscard={() => leaving.discard()}
        />
      )}
    </>
  );
}

/** The link of the navigation that leads to a place, or to what it is a part of. */
function navigationPlace({ path }: Route): string {
  return path.slice(0, path[0] === "data" ? 2 : 1).join("/");
}

function useTitle({ path }: Route): void {
  const facts = useFacts();
  const [page = "overview", name = ""] = path;
  const shown = page === "data" ? resourceAt(facts, name)?.title ?? name : page;
  useEffect(() => {
    document.title = `${shown} · ${facts.name || "Dashboard"}`;
  }, [shown]);
}

/** The hash of the page is its route: the link moves the focus itself. */
function skipTo(event: Event, target: HTMLElement | null): void {
  event.preventDefault();
  target?.focus();
}
