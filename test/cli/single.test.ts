import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { runHere, Stage } from "./stage.ts";

let stage: Stage;
let folder: string;
beforeAll(async () => {
	stage = await Stage.open();
	folder = await mkdtemp(join(tmpdir(), "flowfabric-cli-"));
});
afterAll(async () => {
	await stage.close();
	await rm(folder, { recursive: true });
});

const submit = async (...args: string[]): Promise<string> => (await stage.run(["submit", "thing", ...args])).out.trim();
const claim = async (lane: string) => {
	const [claimed] = await stage.ff.backend.leases.claim({ workerId: "w", instanceId: "w-1", lanes: [lane] });
	if (!claimed) throw new Error(`nothing in ${lane}`);
	return { id: claimed.id, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
};

describe("one execution", () => {
	test("delete removes what has ended, and refuses what has not", async () => {
		const id = await submit("--lane", "gone");
		expect((await stage.run(["delete", id])).code).toBe(4);
		await stage.run(["cancel", id]);
		expect((await stage.run(["delete", id])).out).toBe(`${id} deleted\n`);
		expect((await stage.run(["get", id])).code).toBe(3);
	});

	test("priority is changed and told", async () => {
		const id = await submit("--lane", "quick");
		expect((await stage.run(["priority", id, "70"])).out).toBe(`${id} priority 70\n`);
		expect((await stage.ff.get(id)).priority).toBe(70);
		expect(await stage.run(["priority", id, "soon"])).toMatchObject({
			code: 2,
			err: "flowfabric: number: must be an integer from 0 to 9000\n",
		});
	});

	test("tags are shown, set and removed", async () => {
		const id = await submit("--lane", "tagged", "--tag", "old=1");
		expect((await stage.run(["tags", id])).out).toBe("old  1\n");
		const changed = await stage.run(["tags", id, "--set", "customer=acme", "--remove", "old"]);
		expect(changed.out).toBe("customer  acme\n");
		expect(await stage.json(["tags", id])).toEqual({ id, tags: { customer: "acme" } });
		await stage.run(["tags", id, "--remove", "customer"]);
		expect((await stage.run(["tags", id])).err).toBe(`${id} has no tags.\n`);
	});

	test("revoke takes it from its worker, and says when nobody has it", async () => {
		const id = await submit("--lane", "held");
		const nobody = await stage.run(["revoke", id]);
		expect(nobody).toEqual({ code: 4, out: "", err: `Nobody holds ${id}: nothing was taken away.\n` });
		const { fence } = await claim("held");
		const revoked = await stage.run(["revoke", id, "--reason", "its machine hangs", "--lease", fence.leaseId]);
		expect(revoked.out).toBe(`${id} is back in the queue; lease ${fence.leaseId} is void\n`);
		expect((await stage.ff.get(id)).publicState).toBe("waiting");
	});

	test("attempts show why, on which worker, and what was thrown; all of it in a pipe and as JSON", async () => {
		const id = await submit("--lane", "broken");
		expect((await stage.run(["attempts", id])).err).toMatch(/has not run yet: it is waiting, /);
		const { fence } = await claim("broken");
		const stack = Array.from({ length: 30 }, (_, n) => `    at f${n} (f.js:${n})`);
		const detail = ["Error: the disk is full", ...stack].join("\n");
		await stage.ff.backend.leases.fail(id, { fence, reason: "Error: the disk is full", category: "error", detail });
		const piped = await stage.run(["attempts", id]);
		expect(piped.out).toMatch(
			/^# +STATE +WHY +TOOK +WORKER +STARTED +TYPE\n0 +failed +Error: the disk is full \(error\) /,
		);
		expect(piped.out).toContain("at f29 (f.js:29)");
		const screen = await stage.run(["attempts", id], { tty: true, columns: 80, env: { NO_COLOR: "1" } });
		expect(screen.out).toContain("at f10 (f.js:10)\n    … 19 more lines; --json has them all\n");
		const { attempts } = await stage.json<{ attempts: { failure?: { detail?: string } }[] }>(["attempts", id]);
		expect(attempts[0]?.failure?.detail).toBe(detail);
	});
});

describe("lanes", () => {
	test("one that nobody has used needs --yes where nobody can be asked", async () => {
		await submit("--namespace", "typos", "--lane", "media");
		const refused = await stage.run(["lanes", "pause", "meida", "--namespace", "typos"]);
		expect(refused).toEqual({
			code: 2,
			out: "",
			err: "flowfabric: there is no lane meida in namespace typos; the nearest is media; --yes goes on all the same\n",
		});
		expect((await stage.run(["lanes", "pause", "later", "--namespace", "typos", "--yes"])).out).toBe("later paused\n");
		const asked = await stage.run(["lanes", "pause", "meida", "--namespace", "typos"], {
			tty: true,
			types: true,
			stdin: "y\n",
		});
		expect(asked.out).toBe("meida paused\n");
	});

	test("drain says that it opens a lane that was paused", async () => {
		await submit("--namespace", "drained", "--lane", "media");
		const media = ["media", "--namespace", "drained"];
		expect((await stage.run(["lanes", "drain", ...media])).out).toBe("media draining\n");
		await stage.run(["lanes", "pause", ...media]);
		expect((await stage.run(["lanes", "drain", ...media])).out).toBe(
			"media draining\nIt was paused. Draining opens it for the 1 execution queued in it; new work is refused.\n",
		);
	});
});

describe("backup and import", () => {
	test("a backup goes into an empty store, and nowhere else", async () => {
		const id = await submit("--lane", "saved", "--tag", "customer=acme");
		const file = join(folder, "backup.jsonl");
		const told = await stage.json<{ bytes: number; records: number }>(["backup", "--to", file]);
		expect(told).toMatchObject({ file, keys: false, bytes: (await stat(file)).size });
		const store = `sqlite:${join(folder, "restored.db")}`;
		const taken = await runHere(["import", file, "--store", store, "--json"]);
		expect(JSON.parse(taken.out)).toMatchObject({ store, records: told.records });
		const again = await runHere(["import", file, "--store", store]);
		expect(again).toMatchObject({ code: 4, err: expect.stringContaining("the store is not empty") });
		const ff = await FlowFabric.open(store);
		try {
			expect(await ff.get(id)).toMatchObject({ lane: "saved", tags: { customer: "acme" } });
		} finally {
			await ff.close();
		}
		const copy = join(folder, "copy.jsonl");
		expect((await runHere(["backup", "--store", store, "--to", copy])).out).toContain(
			`flowfabric import ${copy} --store`,
		);
		expect(await readFile(copy, "utf8")).toContain(id);
	});

	test("what cannot be written or read is named", async () => {
		const file = join(folder, "there.jsonl");
		await writeFile(file, "not a backup\n");
		expect((await stage.run(["backup", "--to", file])).err).toBe(`flowfabric: --to: ${file} exists; name a new file\n`);
		expect(await readFile(file, "utf8")).toBe("not a backup\n");
		expect((await stage.run(["backup"])).err).toContain("required option '--to <file>' not specified");
		const damaged = await runHere(["import", file, "--store", "memory:"]);
		expect(damaged).toMatchObject({ code: 2, err: expect.stringMatching(/line 1: is not JSON/) });
		const missing = join(folder, "nowhere.jsonl");
		expect(await runHere(["import", missing, "--store", "memory:"])).toMatchObject({
			code: 2,
			err: `flowfabric: ${missing}: cannot be read (ENOENT)\n`,
		});
	});
});

describe("what users wrote", () => {
	test("takes as many columns as it is wide, and never more than there are", async () => {
		await stage.ff.submit("翻訳する仕事", undefined, { lane: "wide" });
		await stage.ff.submit("é".normalize("NFD").repeat(6), undefined, { lane: "wide" });
		const { out } = await stage.run(["list", "--lane", "wide"], { tty: true, columns: 80, env: { NO_COLOR: "1" } });
		const [head = "", ...rows] = out.trimEnd().split("\n");
		expect(rows.map((row) => row.normalize("NFC").replace("翻訳する仕事", "x".repeat(12)).indexOf("ex_…"))).toEqual([
			head.indexOf("ID"),
			head.indexOf("ID"),
		]);
	});
});
