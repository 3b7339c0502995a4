import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FixedServer, startFixedServer } from "./fixed-server.ts";
import { hasPseudoTerminal, runAtTerminal, type Seen, tooWide } from "./screen.ts";

/**
 * An operator's half hour at a terminal of 80 columns: what is on the screen after each command is in `screens/`. To
 * change them, run this file with --update=all and read the difference as an operator would.
 */

const MINUTE_MS = 60_000;

const STACK = `TypeError: Cannot read properties of undefined (reading 'rows')
    at render (/srv/reports/render.js:41:17)
    at report (/srv/reports/worker.js:12:9)
  caused by Error: connect ECONNREFUSED 10.0.0.7:5432
    at TCPConnectWrap.afterConnect (node:net:1607:16)`;

describe.skipIf(!hasPseudoTerminal())("the operator's half hour", () => {
	let server: FixedServer;
	let cwd: string;
	const ids: Record<string, string> = {};

	beforeAll(async () => {
		cwd = await mkdtemp(join(tmpdir(), "flowfabric-operator-"));
		server = await startFixedServer();
		await fill(server, ids);
	});
	afterAll(async () => {
		await server.close();
		await rm(cwd, { recursive: true });
	});

	/** One command, and what the terminal shows of it. */
	async function type(args: readonly string[], answer?: string): Promise<Seen & { shown: string }> {
		const seen = await runAtTerminal(args, {
			cwd,
			...(answer === undefined ? undefined : { answer }),
			env: {
				FF_URL: server.url,
				NO_COLOR: "1",
				// The command line is told the server's time, so that "5 min ago" is so in every run.
				NODE_OPTIONS: `--import=data:text/javascript,Date.now=()=>${server.clock.now()}`,
			},
		});
		expect(tooWide(seen.screen), "no line is wider than the terminal").toEqual([]);
		const words = args.map((arg) => (/[\s;]/.test(arg) ? `'${arg}'` : arg)).join(" ");
		return { ...seen, shown: [`$ flowfabric ${words}`, ...seen.screen, `(ends with ${seen.code})`, ""].join("\n") };
	}

	async function session(screen: string, commands: readonly (readonly [args: string[], answer?: string])[]) {
		const seen: Seen[] = [];
		let all = "";
		for (const [args, answer] of commands) {
			const { shown, ...rest } = await type(args, answer);
			seen.push(rest);
			all += `${shown}\n`;
		}
		await expect(all).toMatchFileSnapshot(`screens/${screen}.txt`);
		return seen;
	}

	test("list", async () => {
		const [, whole] = await session("list", [
			[["list"]],
			[["list", "--state", "open", "--lane", "media", "--limit", "3", "--full-ids"]],
		]);
		expect(whole?.screen.join("\n").match(/ex_[0-9a-f]{32}_\d+ /g)).toHaveLength(3);
	});

	test("why", async () => {
		await session("why", [
			[["explain", ids["gpu"] ?? ""]],
			[["list", "--state", "open", "--reason", "waiting_for_delay"]],
			[["get", ids["delayed"] ?? ""]],
		]);
	});

	test("attempts with stack", async () => {
		await session("attempts", [[["attempts", ids["failed"] ?? ""]], [["events", ids["failed"] ?? ""]]]);
	});

	test("bulk cancel with preview", async () => {
		const [, done] = await session("bulk-cancel", [
			[["cancel", "--lane", "media", "--kind", "resize"], "n"],
			[["cancel", "--lane", "media", "--kind", "resize", "--reason", "wrong size"], "y"],
			[["cancel", "--lane", "media", "--kind", "resize"]],
			[["cancle", ids["gpu"] ?? ""]],
		]);
		expect(done?.raw).toContain("[████████████████████████] 100 %  12 of 12 cancelled");
	});

	test("pause and drain", async () => {
		await session("lanes", [
			[["lanes"]],
			[["lanes", "pause", "meida"], "n"],
			[["lanes", "pause", "media"]],
			[["explain", ids["wide"] ?? ""]],
			[["lanes", "drain", "media"]],
			[["lanes", "resume", "media"]],
		]);
	});

	test("backup and import", async () => {
		const [, restored] = await session("backup", [
			[["backup", "--to", "backup.jsonl"]],
			[["import", "backup.jsonl", "--store", "sqlite:./restored.db", "--partitions", "2"]],
			[["import", "backup.jsonl", "--store", "sqlite:./restored.db"]],
			[["backup", "--to", "backup.jsonl"]],
			[["backup", "--store", "sqlite:./restored.db", "--to", "again.jsonl"]],
		]);
		expect(restored?.raw).toContain("[████████████████████████] 100 %");
		const records = async (file: string) =>
			(await readFile(join(cwd, file), "utf8"))
				.split("\n")
				.filter((line) => line.includes('"record":"ex_'))
				.map((line) => (JSON.parse(line) as { record: string; doc: string }).record)
				.sort();
		expect(await records("again.jsonl")).toEqual(await records("backup.jsonl"));
	});
});

/** Work of every sort, in the same order every time. */
async function fill({ ff, clock }: FixedServer, ids: Record<string, string>): Promise<void> {
	const submit = async (name: string, kind: string, options: Parameters<typeof ff.submit>[2] = {}) => {
		ids[name] = (await ff.submit(kind, { name }, options)).id;
	};
	const { leases } = ff.backend;
	const take = async (lane: string) => {
		const [claimed] = await leases.claim({ workerId: "reporter", instanceId: "reporter-1", lanes: [lane] });
		if (!claimed) throw new Error(`nothing to claim in ${lane}`);
		return { id: claimed.id, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
	};

	await submit("failed", "report", {
		lane: "reports",
		policy: { retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 1000 } } },
	});
	for (const reason of ["connect ECONNREFUSED 10.0.0.7:5432", "Cannot read properties of undefined (reading 'rows')"]) {
		const { id, fence } = await take("reports");
		await clock.advance(1500);
		await leases.fail(id, { fence, reason: `TypeError: ${reason}`, category: "error", detail: STACK });
		await clock.advance(1000);
	}
	await submit("done", "report", { lane: "reports" });
	const { id, fence } = await take("reports");
	await leases.complete(id, { fence, result: "fine" });
	await clock.advance(3 * MINUTE_MS);
	for (let n = 0; n < 12; n++) await submit(`resize ${n}`, "resize", { lane: "media" });
	await submit("wide", "翻訳‮gnp.exe", { lane: "media", priority: 5 });
	await submit("gpu", "train", { lane: "models", requiredCapabilities: ["gpu"], tags: { customer: "acme" } });
	await submit("delayed", "remind", { delayMs: 90 * MINUTE_MS, idempotencyKey: "remind-7" });
	await submit("active", "transcode-a-very-long-name-of-a-kind-of-work", { lane: "video" });
	const active = await take("video");
	await leases.progress(active.id, { fence: active.fence, percent: 40, message: "frame 4,000 of 10,000" });
	await clock.advance(5000);
}
