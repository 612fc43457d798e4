import {
  type CommandWords,
  Misuse,
  optionsOf,
  readCommandWords,
  readStoreArguments,
  storeOptions,
} from "../command_options.ts";

export type BackupCommand = ReturnType<typeof parseBackupArguments>;
export type RestoreCommand = ReturnType<typeof parseRestoreArguments>;

export const backupHelp =
  `A backup of a SQLite file and of the key-value store, while a service uses them:
  backup FOLDER [DATABASE | --config FILE] [--kv FILE]
                         copies both as of one point in time, into a new folder in FOLDER
      --keep N           remove all but the newest N backups of these files
      --json             print the result as JSON`;

export const restoreHelp = `Replacing a SQLite file and the key-value store by a backup:
  restore FOLDER/NAME [DATABASE | --config FILE] [--kv FILE]
                         replace the files; the old files get other names; the service must
                         not run, and all live streams start again
      --yes              do not ask`;

export function parseBackupArguments(args: readonly string[]) {
  const words = readCommandWords("backup", args, {
    ...storeOptions,
    ...optionsOf("string", "keep"),
    ...optionsOf("boolean", "json"),
  });
  const keep = words.text("keep");
  if (keep !== null && !/^[1-9]\d{0,5}$/.test(keep)) {
    throw new Misuse(`--keep takes the number of backups to keep, from 1, not "${keep}"`);
  }
  return {
    ...{ kind: "backup" as const, ...readPlaces("backup", words, "a folder for the backups") },
    ...{ keep: keep === null ? null : Number(keep), json: words.flag("json") },
  };
}

export function parseRestoreArguments(args: readonly string[]) {
  const words = readCommandWords("restore", args, {
    ...storeOptions,
    ...optionsOf("boolean", "yes"),
  });
  const places = readPlaces("restore", words, "the folder of one backup");
  return { kind: "restore" as const, ...places, yes: words.flag("yes") };
}

function readPlaces(command: string, words: CommandWords<"kv" | "config">, need: string) {
  const [folder, database = null, extra] = words.positionals;
  if (folder === undefined) throw new Misuse(`${command} needs ${need}`);
  if (extra !== undefined) {
    throw new Misuse(`${command} takes one database: "${extra}" is too much`);
  }
  const store = readStoreArguments(words);
  if (database !== null && store.config !== null) {
    throw new Misuse(`${command} takes a database or --config, not both`);
  }
  return { folder, database, ...store };
}
