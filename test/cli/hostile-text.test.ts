import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeProgram } from "../../src/cli/program.ts";
import { Terminal } from "../../src/cli/terminal.ts";
import { Stage } from "./stage.ts";

/** What a tenant may write, to clear a screen, to turn a name around, to hide, or to forge a line. */
const HOSTILE =
	"evil\u001b[2J\u009b1m\u0007\u007f\u202egnp\u202c\u2066a\u2069\u200e\u200f\u061c\u200b\ufeff\u2028\u2029\r\nFORGED line";
/** As much of it as names of workers and categories may hold, and as names of steps and capabilities may. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const NAME = HOSTILE.replace(/[\u0000-\u001f\u007f]/g, "");
const STEP = NAME.replace(/[\p{Cc}\s]/gu, "");
const RAW =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
	/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
/** What the command line itself does with a terminal: the line that moves, and a drawing that is drawn anew. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const OWN = /\r\u001b\[K|\u001b\[\d+A\u001b\[J/g;
const UNKNOWN = `ex_${"0".repeat(32)}_0`;

let stage: Stage;
let folder: string;
const ids = {
	...{ waiting: "", held: "", failed: "", suspended: "", ended: "", flow: "", openFlow: "" },
	...{ flowFile: "", backupFile: "", otherStore: "" },
};

beforeAll(async () => {
	stage = await Stage.open();
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	const { backend } = stage.ff;
	const { executions, leases, budgets, quotas, flows, workers, lanes } = backend;
	await budgets.create({ id: "team", dimensions: { tokens: { hard: 100 } }, labels: { owner: HOSTILE } });
	await quotas.create({ id: "team", concurrency: 50 });
	const worker = { workerId: NAME, instanceId: NAME };
	await workers.register(NAME, { workerId: NAME, capabilities: [STEP], lanes: ["odd"], kinds: [HOSTILE] });
	const made = async (more: object = {}) => {
		const { id } = await executions.create({
			kind: HOSTILE,
			lane: "odd",
			tags: { note: HOSTILE },
			createdBy: NAME,
			fairnessKey: HOSTILE,
			budgets: ["team"],
			quotas: ["team"],
			input: HOSTILE,
			...more,
		});
		return id;
	};
	const held = async () => {
		const id = await made();
		const [claimed] = await leases.claim({ ...worker, lanes: ["odd"] });
		if (claimed?.id !== id) throw new Error("something else was claimed");
		return { id, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
	};
	const running = await held();
	ids.held = running.id;
	await leases.progress(running.id, { fence: running.fence, percent: 5, message: HOSTILE });
	await leases.recordStep(running.id, { fence: running.fence, name: STEP, index: 0, result: HOSTILE, startedAt: 0 });
	const failed = await held();
	ids.failed = failed.id;
	const frames = [{ text: HOSTILE }, { type: HOSTILE, text: HOSTILE }];
	await leases.appendFrames(failed.id, { fence: failed.fence, frames });
	await leases.fail(failed.id, { fence: failed.fence, reason: HOSTILE, category: NAME, detail: HOSTILE });
	const ended = await held();
	ids.ended = ended.id;
	await leases.complete(ended.id, { fence: ended.fence, result: HOSTILE, contentType: "text/plain" });
	const suspended = await held();
	ids.suspended = suspended.id;
	const condition = { allOf: [{ signal: HOSTILE }, { signal: "never" }] };
	const waitpoints = [{ key: HOSTILE }];
	await leases.suspend(suspended.id, { fence: suspended.fence, reason: "waiting_for_approval", condition, waitpoints });
	ids.waiting = await made({ idempotencyKey: HOSTILE });
	await executions.cancel(await made(), { reason: HOSTILE });
	const nodes = [
		{ key: HOSTILE, kind: HOSTILE, lane: "odd", requiredCapabilities: [STEP] },
		{ key: "b", kind: HOSTILE },
	];
	const edges = [{ from: HOSTILE, to: "b", passResultAs: HOSTILE }];
	ids.flow = (await flows.create({ kind: HOSTILE, nodes, edges })).id;
	ids.openFlow = (await flows.create({ kind: HOSTILE, nodes, edges, sealed: false })).id;
	ids.backupFile = join(folder, "backup.jsonl");
	ids.otherStore = `sqlite:${join(folder, "other.db")}`;
	ids.flowFile = join(folder, "flow.json");
	await writeFile(ids.flowFile, JSON.stringify({ kind: HOSTILE, nodes, edges }));
	await lanes.pause("odd");
});
afterAll(async () => {
	await stage.close();
	await rm(folder, { recursive: true });
});

/** How each command is made to show what tenants wrote; `$name` stands for an id. Given in an order that works. */
const LINES: Record<string, readonly string[][]> = {
	submit: [["submit", HOSTILE, "--text", HOSTILE, "--lane", "odd", "--tag", `note=${HOSTILE}`]],
	get: [
		["get", "$waiting"],
		["get", "$held"],
		["get", "$failed"],
		["get", "$ended"],
		["get", "$suspended"],
		["get", "$held", "--steps"],
		["get", UNKNOWN],
	],
	list: [["list"], ["list", "--all", "--full-ids"], ["list", "--kind", HOSTILE], ["list", "--tag", `note=${HOSTILE}`]],
	wait: [
		["wait", "$failed"],
		["wait", "$ended"],
		["wait", "$held", "--timeout", "300ms"],
	],
	events: [
		["events", "$failed"],
		["events", "$suspended"],
		["events", "$failed", "--follow"],
	],
	attempts: [
		["attempts", "$failed"],
		["attempts", "$held"],
	],
	explain: [
		["explain", "$waiting"],
		["explain", "$held"],
		["explain", "$failed"],
		["explain", "$suspended"],
	],
	tail: [["tail", "$failed"]],
	priority: [["priority", "$waiting", "3"]],
	tags: [
		["tags", "$waiting"],
		["tags", "$waiting", "--set", `other=${HOSTILE}`],
	],
	revoke: [
		["revoke", "$waiting"],
		["revoke", "$held", "--reason", HOSTILE],
	],
	approvals: [["approvals"], ["approvals", "--key", HOSTILE]],
	approve: [
		["approve", "$suspended", "--name", "other", "--as", HOSTILE],
		["approve", "$suspended", "--name", HOSTILE, "--waitpoint", HOSTILE],
		["approve", "$suspended", "--waitpoint", `${HOSTILE}?`],
	],
	signal: [["signal", "$suspended", HOSTILE, "--waitpoint", HOSTILE, "--source", `person:${HOSTILE}`]],
	resume: [["resume", "$suspended", "--reason", HOSTILE]],
	flows: [["flows"], ["flows", "--kind", HOSTILE]],
	"flows show": [
		["flows", "show", "$flow"],
		["flows", "show", "$openFlow"],
	],
	"flows create": [["flows", "create", "$flowFile"]],
	"flows cancel": [
		["flows", "cancel", "$flow", "--policy", "cancel_all", "--reason", HOSTILE, "--wait"],
		["flows", "show", "$flow", "--watch"],
	],
	"flows delete": [["flows", "delete", "$flow", "--yes"]],
	lanes: [["lanes"]],
	"lanes pause": [["lanes", "pause", "odd"]],
	"lanes resume": [["lanes", "resume", "odd"]],
	"lanes drain": [["lanes", "drain", "odd"]],
	"lanes set": [["lanes", "set", "odd", "--aging-ms", "5"]],
	workers: [["workers"]],
	budgets: [["budgets"]],
	"budgets show": [["budgets", "show", "team"]],
	"budgets create": [["budgets", "create", "team", "--hard", "tokens=100"]],
	"budgets set": [["budgets", "set", "team", "--hard", "tokens=200"]],
	"budgets usage": [["budgets", "usage", "team", "tokens=1", "--execution", "$waiting"]],
	"budgets ledger": [["budgets", "ledger", "team"]],
	"budgets release": [["budgets", "release", "team", "$waiting"]],
	"budgets reset": [["budgets", "reset", "team"]],
	"budgets delete": [["budgets", "delete", "team", "--yes"]],
	quotas: [["quotas"]],
	"quotas show": [["quotas", "show", "team"]],
	"quotas create": [["quotas", "create", "team", "--concurrency", "50"]],
	"quotas set": [["quotas", "set", "team", "--concurrency", "60"]],
	"quotas delete": [["quotas", "delete", "team", "--yes"]],
	backup: [["backup", "--to", "$backupFile"]],
	import: [["import", "$backupFile", "--store", "$otherStore"]],
	doctor: [["doctor"], ["doctor", "--deep"], ["doctor", "--store", "$otherStore"]],
	replay: [
		["replay", "$failed"],
		["replay", "--state", "failed", "--lane", "odd"],
	],
	cancel: [
		["cancel", "$waiting", "--reason", HOSTILE],
		["cancel", "--lane", "odd"],
	],
	delete: [
		["delete", "--lane", "odd"],
		["delete", "$ended", "--yes"],
	],
};

/** These show nothing that a tenant wrote; what servers log is tested beside the log. */
const TOLD_ELSEWHERE = ["serve", "dev", "keys rotate", "bench"];

function commandsIn(command: Command, path: string[] = []): string[] {
	const inner = command.commands.flatMap((each) => commandsIn(each, [...path, each.name()]));
	const isGroup = command.commands.length > 0 && !(command as unknown as { _actionHandler: unknown })._actionHandler;
	return [...(isGroup ? [] : [path.join(" ")]), ...inner];
}

test("every command there is, is in the list", () => {
	const terminal = new Terminal({ write: () => {} }, { write: () => {} }, {});
	const context = { terminal, env: {}, stdin: process.stdin, onStop: () => () => {}, end: () => {} };
	const known = commandsIn(makeProgram(context)).filter((name) => !/(^| )help$/.test(name));
	expect(known.toSorted()).toEqual([...Object.keys(LINES), ...TOLD_ELSEWHERE].toSorted());
});

async function expectPlain(args: readonly string[], tty: boolean): Promise<string> {
	// So wide that no line is wrapped: each begins where the command line begins one.
	const options = { tty, columns: 10_000, types: true, stdin: "n\n", env: { NO_COLOR: "1" } };
	const { out, err } = await stage.run(args, options);
	const shown = (out + err).replace(OWN, "");
	expect([args, RAW.exec(shown)?.[0]]).toEqual([args, undefined]);
	// The text of a frame runs on in lines as it was written.
	if (args[0] !== "tail") expect([args, shown.split("\n").filter((line) => /^FORGED/.test(line))]).toEqual([args, []]);
	return shown;
}

describe.each(Object.entries(LINES))("%s", (name, lines) => {
	test("shows what tenants wrote as text, on a terminal and in a pipe, for people and for programs", async () => {
		for (const line of lines) {
			const args = line.map((each) => (each.startsWith("$") ? ids[each.slice(1) as keyof typeof ids] : each));
			for (const tty of [true, false]) {
				// Frames go into a pipe as they were written.
				if (name !== "tail" || tty) await expectPlain(args, tty);
				await expectPlain([...args, "--json"], tty);
			}
		}
	});

	test("quotes what it is given as text when it refuses it", async () => {
		const path = name.split(" ");
		for (const args of [
			[...path, HOSTILE],
			[...path, HOSTILE, HOSTILE, HOSTILE, HOSTILE],
			[...path, `--${HOSTILE}`],
			[...path, "--url", HOSTILE],
			[...path, "--namespace", HOSTILE],
		])
			for (const json of [[], ["--json"]]) await expectPlain([...args, ...json], true);
	});
});

test("a command that does not exist is quoted as text", async () => {
	expect(await expectPlain([HOSTILE], true)).toContain("evil\\u001b[2J");
});
