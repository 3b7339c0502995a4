import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import BetterSqlite3 from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { FlowFabric, FlowFabricError, type OpenOptions } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

async function folder(): Promise<string> {
	const path = await mkdtemp(join(tmpdir(), "flowfabric-"));
	onTestFinished(() => rm(path, { recursive: true }));
	return path;
}

async function open(url: string, options: OpenOptions = {}): Promise<FlowFabric> {
	const ff = await FlowFabric.open(url, options);
	onTestFinished(() => ff.close());
	return ff;
}

/** The refusal of an open; whatever is refused must not stay open. */
async function refused(url: unknown, options: unknown = {}): Promise<FlowFabricError> {
	const error = await open(url as string, options as OpenOptions).then(
		() => new Error("was opened"),
		(thrown: unknown) => thrown,
	);
	if (!(error instanceof FlowFabricError)) throw error;
	return error;
}

/** A store file with one execution in it, closed again. */
async function madeBefore(options: OpenOptions = {}): Promise<{ file: string; url: string; id: string }> {
	const file = join(await folder(), "store.db");
	const url = `sqlite:${file}`;
	const ff = await FlowFabric.open(url, options);
	const { id } = await ff.submit("job", { kept: true });
	await ff.close();
	return { file, url, id };
}

function edit(file: string, statement: string): void {
	const db = new BetterSqlite3(file);
	db.exec(statement);
	db.close();
}

describe("a store URL", () => {
	for (const url of [
		"",
		"nonsense",
		"sqlite",
		"sqlite:",
		"sqlite://",
		"sqlite::memory:",
		"mysql://x",
		"http://x",
		"./file.db",
		"memory2:",
	]) {
		it(`that is ${JSON.stringify(url)} is refused, saying what is allowed`, async () => {
			const error = await refused(url);
			expect(error).toMatchObject({ code: "store_invalid", retryable: false });
			expect(error.message).toContain(url);
			expect(error.message).toMatch(/sqlite:/);
		});
	}

	it("that is no string is refused by name", async () => {
		for (const url of [undefined, null, 7, {}]) {
			expect(["invalid_input", "store_invalid"]).toContain((await refused(url)).code);
		}
	});

	it("may name a file with spaces, letters of any script and signs URLs give a meaning", async () => {
		const path = join(await folder(), "mon café 🦊 100%?#.db");
		const ff = await FlowFabric.open(`sqlite:${path}`);
		const { id } = await ff.submit("job");
		await ff.close();
		expect(await (await open(`sqlite:${path}`)).get(id)).toMatchObject({ id });
		await readFile(path);
	});

	it("with two slashes names the same file as without", async () => {
		const { url, id } = await madeBefore();
		const ff = await open(url.replace("sqlite:", "sqlite://"));
		expect(await ff.get(id)).toMatchObject({ id });
	});

	it("memory: gives each who opens it a store of their own", async () => {
		const a = await open("memory:");
		const b = await open("memory:");
		await a.submit("job");
		expect((await b.list()).executions).toEqual([]);
	});
});

describe("options of open", () => {
	const bad: Record<string, [options: object, field: string]> = {
		"partitions 0": [{ partitions: 0 }, "partitions"],
		"negative partitions": [{ partitions: -1 }, "partitions"],
		"half a partition": [{ partitions: 1.5 }, "partitions"],
		"257 partitions": [{ partitions: 257 }, "partitions"],
		"partitions as text": [{ partitions: "8" }, "partitions"],
		"a negative retentionMs": [{ retentionMs: -1 }, "retentionMs"],
		"a retentionMs with a fraction": [{ retentionMs: 0.5 }, "retentionMs"],
		"a retentionMs that is NaN": [{ retentionMs: Number.NaN }, "retentionMs"],
		"a retentionMs as text": [{ retentionMs: "1h" }, "retentionMs"],
		"a sweepMs below a second": [{ sweepMs: 999 }, "sweepMs"],
		"a sweepMs above a day": [{ sweepMs: 86_400_001 }, "sweepMs"],
		"scanners as text": [{ scanners: "a" }, "scanners"],
		"scanners of no namespace": [{ scanners: { namespaces: [] } }, "scanners.namespaces"],
		"scanners of a bad namespace": [{ scanners: { namespaces: ["a", "b c"] } }, "scanners.namespaces[1]"],
		"scanners of a tag without a value": [{ scanners: { tags: ["team"] } }, "scanners.tags[0]"],
		"scanners of an unknown sort": [{ scanners: { lanes: ["a"] } }, "scanners.lanes"],
		"an empty actor": [{ actor: "" }, "actor"],
		"an actor that is no string": [{ actor: 7 }, "actor"],
	};
	for (const [what, [options, field]] of Object.entries(bad)) {
		it(`${what} is refused by name, and no file is made`, async () => {
			const file = join(await folder(), "store.db");
			for (const url of ["memory:", `sqlite:${file}`]) {
				const error = await refused(url, options);
				expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field } });
				expect(error.message).toContain(field);
			}
			await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
		});
	}

	it("the largest retention that is allowed works", async () => {
		const ff = await open(`sqlite:${join(await folder(), "store.db")}`, { retentionMs: Number.MAX_SAFE_INTEGER });
		const { id } = await ff.submit("job");
		await ff.cancel(id);
		expect(await ff.get(id)).toMatchObject({ publicState: "cancelled" });
	});

	it("256 partitions work", async () => {
		const ff = await open("memory:", { partitions: 256 });
		const { id } = await ff.submit("job");
		expect((await ff.list()).executions.map((each) => each.id)).toEqual([id]);
	});
});

describe("a SQLite file", () => {
	it("keeps what was accepted", async () => {
		const { url, id } = await madeBefore();
		const ff = await open(url);
		expect(await ff.get(id)).toMatchObject({ id, publicState: "waiting" });
	});

	it("that is none is refused and left as it was", async () => {
		const file = join(await folder(), "notes.txt");
		const text = "these are my notes, not a database\n".repeat(100);
		await writeFile(file, text);
		const error = await refused(`sqlite:${file}`);
		expect(error).toMatchObject({ code: "store_invalid", retryable: false, details: { path: file } });
		expect(error.message).toContain(file);
		expect(await readFile(file, "utf8")).toBe(text);
	});

	it("of another program is refused and left as it was", async () => {
		const file = join(await folder(), "bookmarks.db");
		edit(file, "CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('https://example.org')");
		const before = await readFile(file);
		const error = await refused(`sqlite:${file}`);
		expect(error).toMatchObject({ code: "store_invalid" });
		expect(error.message).toMatch(/another program/);
		expect(Buffer.compare(await readFile(file), before)).toBe(0);
	});

	it("written by a later version is refused, whichever number is higher", async () => {
		for (const statement of ["UPDATE meta SET value = 999 WHERE name = 'format'", "PRAGMA user_version = 999"]) {
			const { file, url } = await madeBefore();
			edit(file, statement);
			const error = await refused(url);
			expect(error).toMatchObject({ code: "store_too_new", retryable: false });
			expect(error.message).toMatch(/999.*upgrade/);
		}
	});

	it("with other partitions than asked for is refused, naming both counts", async () => {
		const { url, id } = await madeBefore({ partitions: 4 });
		const error = await refused(url, { partitions: 8 });
		expect(error).toMatchObject({
			code: "partition_mismatch",
			retryable: false,
			details: { field: "partitions", stored: 4, configured: 8 },
		});
		expect(error.message).toMatch(/partitions.*4.*8/);
		expect(await (await open(url)).get(id)).toMatchObject({ id });
	});

	it("in a folder that is not there is refused, naming the folder", async () => {
		const missing = join(await folder(), "not", "there");
		const error = await refused(`sqlite:${join(missing, "store.db")}`);
		expect(error.message).toContain(missing);
		expect(error.message).toMatch(/does not exist/);
	});

	it("that is a folder is refused", async () => {
		const path = join(await folder(), "store.db");
		await mkdir(path);
		const error = await refused(`sqlite:${path}`);
		expect(error).toMatchObject({ code: "store_invalid" });
		expect(error.message).toContain(path);
	});

	it("made in a test's time is refused without it, and the other way round", async () => {
		const clock = new VirtualClock();
		const testClock = { now: clock.now, clock };
		const made = await madeBefore();
		expect(await refused(made.url, { testClock })).toMatchObject({ code: "store_invalid" });
		const file = join(await folder(), "test.db");
		const ff = await FlowFabric.open(`sqlite:${file}`, { testClock });
		await ff.close();
		expect(await refused(`sqlite:${file}`)).toMatchObject({ code: "store_invalid" });
	});

	it("open in this process is refused to a second, which disturbs nothing", async () => {
		const { url, id } = await madeBefore();
		const first = await open(url);
		const error = await refused(url);
		expect(error).toMatchObject({ code: "store_in_use", status: 503 });
		expect(await first.get(id)).toMatchObject({ id });
		await first.submit("job");
		expect(await refused(url)).toMatchObject({ code: "store_in_use" });
	});

	it("open in another process is refused until that process is gone", async () => {
		const { url, id } = await madeBefore();
		const { kill } = await openElsewhere(url);
		expect(await refused(url)).toMatchObject({ code: "store_in_use" });
		await kill();
		expect(await (await open(url)).get(id)).toMatchObject({ id });
	});

	it("can be opened again once it was closed", async () => {
		const { url } = await madeBefore();
		for (let n = 0; n < 3; n++) await (await FlowFabric.open(url)).close();
		await open(url);
	});
});

/** Another process with the store open, until it is killed. */
async function openElsewhere(url: string): Promise<{ kill: () => Promise<void> }> {
	const index = new URL("../../src/index.ts", import.meta.url).href;
	const program = `
		import { FlowFabric } from ${JSON.stringify(index)};
		const ff = await FlowFabric.open(${JSON.stringify(url)});
		console.log("open");
		process.stdin.on("data", () => ff.close());
	`;
	const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
		stdio: ["pipe", "pipe", "inherit"],
	});
	const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
	for await (const line of createInterface(child.stdout)) if (line === "open") break;
	return {
		kill() {
			child.kill("SIGKILL");
			return gone;
		},
	};
}
