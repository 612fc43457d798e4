import { configOption, Misuse, readCommandWords } from "../command_options.ts";

export type InitCommand = ReturnType<typeof parseInitArguments>;
export type DevCommand = ReturnType<typeof parseDevArguments>;

export const initHelp = `A new project:
  init [FOLDER]          write a project that runs immediately: tables, rights, a test, a Dockerfile
      --web              with a page: Vite, React and the typed client
      --database URL     the database in its file .env, sqlite:data/app.db unless set`;

export const devHelp = `The development of a project:
  dev [--config FILE]    serve service.config.ts, and start again at each save: runs changes of the
                         tables that only add, and shows all others
      --web FOLDER       a page with Vite, which npm run dev starts; web unless set`;

export function parseInitArguments(args: readonly string[]) {
  const words = readCommandWords("init", args, {
    web: { type: "boolean" },
    database: { type: "string" },
  });
  const [folder = ".", extra] = words.positionals;
  if (extra !== undefined) throw new Misuse(`init takes one folder: "${extra}" is one too many`);
  if (folder === "") throw new Misuse("init takes a folder, not an empty name");
  const database = words.text("database");
  if (database !== null && !/^[a-z-]{2,}:[^'\n]+$/i.test(database)) {
    throw new Misuse(
      `--database takes a URL without quotes, such as sqlite:PATH or postgres://…, not ${database}`,
    );
  }
  return { kind: "init" as const, folder, web: words.flag("web"), database };
}

export function parseDevArguments(args: readonly string[]) {
  const words = readCommandWords("dev", args, { config: configOption, web: { type: "string" } });
  const [extra] = words.positionals;
  if (extra !== undefined) throw new Misuse(`dev takes no "${extra}": name a file by --config`);
  return { kind: "dev" as const, config: words.text("config"), web: words.text("web") };
}
