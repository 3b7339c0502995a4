import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { StoreOptions } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { openError } from "../../src/store/sqlite/thread/open-error.ts";
import { startProcess } from "./sqlite-process.ts";
import { format } from "./stores.ts";
import { put } from "./trial.ts";

let folder = "";
let file = "";
const testClock = (): number => 1000;

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	file = join(folder, "store.db");
});

afterEach(async () => {
	await chmod(folder, 0o755);
	await rm(folder, { recursive: true });
});

const open = (options: Partial<StoreOptions> = {}, path = file) =>
	openSqliteStore(path, { format, testClock, ...options });

const make = async (options: Partial<StoreOptions> = {}): Promise<void> => (await open(options)).close();

/** Opens the file as any program would, while no store has it open. */
function inFile<T>(work: (db: BetterSqlite3.Database) => T): T {
	const db = new BetterSqlite3(file);
	try {
		return work(db);
	} finally {
		db.close();
	}
}

it("makes a store of one partition where there is none, or an empty file", async () => {
	const store = await open();
	expect(store.partitions).toBe(1);
	await store.close();
	await writeFile(join(folder, "empty.db"), "");
	await (await open({}, join(folder, "empty.db"))).close();
});

it("goes on where a program died while making the store", async () => {
	inFile((db) => db.pragma("journal_mode = WAL"));
	await make({ partitions: 3 });
	expect((await reopened()).partitions).toBe(3);
});

async function reopened(): Promise<{ partitions: number }> {
	const store = await open();
	await store.close();
	return { partitions: store.partitions };
}

it("takes the store's own number of partitions when none is given", async () => {
	await make({ partitions: 4 });
	expect(await reopened()).toEqual({ partitions: 4 });
});

it("refuses another number of partitions, naming both", async () => {
	await make({ partitions: 4 });
	await expect(open({ partitions: 8 })).rejects.toMatchObject({
		code: "partition_mismatch",
		message: expect.stringContaining(`${file}: partitions: the store has 4, the configuration says 8`),
		details: { field: "partitions", stored: 4, configured: 8 },
	});
	await make({ partitions: 4 });
});

it.each([0, -1, 1.5, 257, Number.NaN])("refuses %d partitions and makes no file", async (partitions) => {
	await expect(open({ partitions })).rejects.toMatchObject({ code: "partition_mismatch" });
	await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
});

it.each([
	["text", Buffer.from("just some notes")],
	["noise", Buffer.alloc(50_000, 7)],
])("refuses a file that is no database: %s", async (_, bytes) => {
	await writeFile(file, bytes);
	await expect(open()).rejects.toMatchObject({ code: "store_invalid", message: expect.stringContaining(file) });
	expect(await readFile(file)).toEqual(bytes);
});

it("refuses another program's database and leaves it as it was", async () => {
	inFile((db) => db.exec("CREATE TABLE meta (name TEXT, value TEXT); CREATE TABLE record (x)"));
	const before = await readFile(file);
	await expect(open()).rejects.toMatchObject({
		code: "store_invalid",
		message: expect.stringContaining("another program"),
	});
	expect(await readFile(file)).toEqual(before);
});

it("refuses a damaged store", async () => {
	const store = await open();
	await store.commit(0, { engine: "e", number: 1, at: 1000, units: [put("a", "x".repeat(100_000))] });
	await store.close();
	const bytes = await readFile(file);
	await writeFile(file, bytes.fill(0x55, 100, 30_000));
	await expect(open()).rejects.toMatchObject({ code: "store_invalid" });
});

it("refuses a directory, and a directory that does not exist", async () => {
	await mkdir(file);
	await expect(open()).rejects.toMatchObject({ code: "store_invalid", message: expect.stringContaining("directory") });
	const missing = join(folder, "missing", "store.db");
	await expect(open({}, missing)).rejects.toMatchObject({
		code: "store_unavailable",
		message: expect.stringContaining(join(folder, "missing")),
	});
});

it("refuses what it may not write", async () => {
	await make();
	const answer = async (path: string): Promise<string | undefined> =>
		startProcess(path, { unprivileged: true }).nextLine();
	await chmod(file, 0o444);
	await chmod(folder, 0o555);
	expect(await answer(file)).toBe("store_read_only");
	expect(await answer(join(folder, "new.db"))).toBe("store_read_only");
	await chmod(file, 0o666);
	expect(await answer(file)).toBe("store_read_only");
	await chmod(folder, 0o777);
	await chmod(file, 0o444);
	expect(await answer(file)).toBe("store_read_only");
});

it("brings the one log of an earlier layout into logs by namespace, with histories and what was forgotten", async () => {
	await make();
	const event = (commit: number, orphan: number, owner: string, fields: object) => [
		...[commit, orphan, 10 * commit, owner, JSON.stringify({ seq: 1, ...fields })],
	];
	inFile((db) => {
		db.exec(`DROP TABLE event;
			CREATE TABLE event (
				partition INTEGER, "commit" INTEGER, place INTEGER, orphan INTEGER NOT NULL, at INTEGER NOT NULL,
				owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (partition, "commit", place)
			) WITHOUT ROWID;
			CREATE INDEX event_of_owner ON event (partition, owner, "commit", place) WHERE orphan = 0;
			CREATE INDEX event_orphaned ON event (partition, at) WHERE orphan = 1;`);
		db.exec("UPDATE head SET commits = 2500");
		const insert = db.prepare("INSERT INTO event VALUES (0, ?, 0, ?, ?, ?, ?)");
		insert.run(...event(1, 0, "kept", { namespace: "one" }));
		insert.run(...event(2, 1, "gone", { namespace: "two" }));
		for (let commit = 3; commit <= 2500; commit++)
			insert.run(...event(commit, 0, "kept", { namespace: "one", flowId: "fl" }));
		db.pragma("user_version = 1");
	});
	const store = await open();
	expect((await store.logs(0)).logs).toEqual(["one", "two"]);
	const { events } = await store.events(0, "one", "kept", undefined, 10_000);
	expect(events.map(({ commit }) => commit)).toEqual([1, ...Array.from({ length: 2498 }, (_, n) => n + 3)]);
	expect(events.at(-1)).toMatchObject({ log: "one", group: "fl", at: 25_000 });
	expect((await store.events(0, "one", "fl", undefined, 10_000)).events).toHaveLength(2498);
	expect((await store.events(0, "two", "gone", undefined, 10)).events).toEqual([]);
	expect((await store.trimEvents(0, 30)).trimmed).toBe(1);
	expect((await store.logs(0)).logs).toEqual(["one"]);
	await store.close();
	await make();
});

it("refuses a later layout and a later format, naming what was found and what is known", async () => {
	await make({ format: { ...format, format: 7 } });
	await expect(open({ format: { ...format, format: 6 } })).rejects.toMatchObject({
		code: "store_too_new",
		message: expect.stringContaining("format is 7"),
		details: { field: "format", found: 7, supported: 6 },
	});
	inFile((db) => db.pragma("user_version = 99"));
	await expect(open({ format: { ...format, format: 7 } })).rejects.toMatchObject({
		code: "store_too_new",
		details: { field: "layout", found: 99 },
	});
});

it("keeps stores of tests and real ones apart", async () => {
	await make();
	await expect(openSqliteStore(file, { format })).rejects.toMatchObject({
		code: "store_invalid",
		message: expect.stringContaining("testClock"),
	});
	const real = join(folder, "real.db");
	await (await openSqliteStore(real, { format })).close();
	await expect(open({}, real)).rejects.toMatchObject({
		code: "store_invalid",
		message: expect.stringContaining("testClock"),
	});
	await (await openSqliteStore(real, { format })).close();
});

it("refuses a store that is open in this process, without disturbing it", async () => {
	const store = await open();
	for (let n = 0; n < 3; n++) {
		await expect(open()).rejects.toMatchObject({ code: "store_in_use", message: expect.stringContaining(file) });
	}
	const other = startProcess(file);
	expect(await other.nextLine()).toBe("store_in_use");
	await store.commit(0, { engine: "e", number: 1, at: 1000, units: [put("a", "1")] });
	await store.close();
	await make();
});

it("refuses a store open in another process, and has all it was answered once that is killed", async () => {
	const other = startProcess(file);
	expect(await other.nextLine()).toBe("opened");
	await expect(open()).rejects.toMatchObject({ code: "store_in_use" });
	const answered: string[] = [];
	while (answered.length < 200) answered.push((await other.nextLine()) ?? "");
	await other.kill();
	const store = await open();
	const { records } = await store.read(0, answered);
	expect(records.filter(({ version }) => version === 0)).toEqual([]);
	await store.close();
});

it.each([
	["SQLITE_BUSY_RECOVERY", "store_in_use"],
	["SQLITE_CORRUPT_INDEX", "store_invalid"],
	["SQLITE_READONLY_DBMOVED", "store_read_only"],
	["SQLITE_FULL", "store_unavailable"],
	["SQLITE_IOERR_FSYNC", "store_unavailable"],
])("answers %s with %s", (code, expected) => {
	expect(openError(file, Object.assign(new Error("said SQLite"), { code })).code).toBe(expected);
});
