import type { AppConfig } from "../../../../src/app/config.ts";
import type { TableLike } from "../../../../src/schema/table_like.ts";
import { type Engine, engines } from "../../../support/engines.ts";
import { type Answer, type Service, withService } from "../../../support/http.ts";
import type { Database } from "../../../../src/db/database.ts";

/** An app with a dashboard, which every caller may use. */
export interface DashboardService extends Service {
  /** The answer of a report, which must be a 200. */
  report(path: string): Promise<Answer["body"]>;
  action(name: string, body: unknown): Promise<Answer>;
}

/** What tests are run over that have nothing to do with the engine. */
export const anyEngine = engines.find(({ name }) => name === "node:sqlite") ?? engines[0] as Engine;

/** Runs `work` against an app with a dashboard, over a fresh database with these tables. */
export function withDashboard(
  engine: Engine,
  tables: readonly TableLike<unknown, unknown>[],
  config: (db: Database) => Omit<AppConfig, "db">,
  work: (service: DashboardService) => Promise<void>,
): Promise<void> {
  const withPage = (db: Database) => ({ adminUI: { authorize: () => true }, ...config(db) });
  return withService(engine, tables, withPage, async (service) => {
    await work({
      ...service,
      async report(path) {
        const { status, headers, body } = await service.get(`${place}/report/${path}`);
        const seen = `${status} ${headers.get("cache-control")}`;
        if (seen !== "200 no-store") throw new Error(`${path}: ${seen} ${JSON.stringify(body)}`);
        return body;
      },
      action: (name, body) => service.send("POST", `${place}/action/${name}`, body),
    });
  });
}

const place = "/__service/ui";
