import type { FlowFabric } from "../../library/flowfabric.ts";
import type { Line } from "../../store/transfer/line.ts";
import { type CommandContext, describeError } from "../command-context.ts";
import { askOpenly, atServer, reasonOf, type ServerFlags } from "../connection.ts";
import { oneLine } from "../format/text.ts";
import { CLIENT_SETTINGS } from "../settings/client-settings.ts";
import { readSettings } from "../settings/setting.ts";
import type { Terminal } from "../terminal.ts";
import { problemOfEvent } from "./event-check.ts";
import type { Findings } from "./findings.ts";
import { bytesPerExecution, corruptProblems, count, emptyTally, MOST_SAMPLES, more } from "./tally.ts";
import { unservedProblems } from "./unserved.ts";

/** Checks running servers of one store through what they tell everybody, and what they tell the holder of the token. */
export async function examineServer(
	context: CommandContext,
	flags: ServerFlags & { deep?: boolean },
): Promise<Findings> {
	const { url: urls } = readSettings(CLIENT_SETTINGS, flags, context.env);
	const findings: Findings = { facts: { server: urls.join(", ") }, problems: [] };
	const { facts, problems } = findings;
	const met = await Promise.all(urls.map((url) => meet(url, problems)));
	const answering = met.filter((each) => each !== undefined);
	const [first] = answering;
	if (!first) return findings;
	facts["answered in ms"] =
		urls.length === 1 ? first.tookMs : Object.fromEntries(answering.map(({ url, tookMs }) => [url, tookMs]));
	facts["ready"] = answering.every(({ isReady }) => isReady) ? "yes" : "no";
	const versions = new Set(answering.flatMap(({ version }) => version ?? []));
	if (versions.size > 0) facts["version"] = [...versions].join(", ");
	try {
		await atServer(context, flags, async (ff) => {
			await askWithToken(ff, findings);
			for (const problem of await unservedProblems(ff)) problems.push(problem);
			if (flags.deep) await readAll(ff, context.terminal, findings);
		});
	} catch (error) {
		problems.push(`the rest was not told: ${describeError(error).line}`);
	}
	return findings;
}

/** What one server tells everybody; undefined when it does not answer. */
async function meet(url: string, problems: string[]) {
	const startedAt = performance.now();
	try {
		const ready = await askOpenly(url, "/readyz");
		const tookMs = Math.round(performance.now() - startedAt);
		if (!ready.ok) problems.push(`the server at ${url} is there but not ready: ${await complaintIn(ready)}`);
		const described = await askOpenly(url, "/openapi.json");
		const document = described.ok ? ((await described.json()) as { info: { version: string } }) : undefined;
		return { url, tookMs, isReady: ready.ok, version: document?.info.version };
	} catch (error) {
		problems.push(`nobody answers at ${url} (${reasonOf(error)})`);
		return undefined;
	}
}

async function askWithToken({ backend }: FlowFabric, { facts, problems }: Findings): Promise<void> {
	const { lanes } = await backend.lanes.list();
	const executions: Record<string, number> = {};
	for (const { depth } of lanes)
		for (const [state, count] of Object.entries(depth)) executions[state] = (executions[state] ?? 0) + count;
	facts["lanes"] = lanes.length;
	facts["executions"] = executions;
	facts["workers"] = (await backend.workers.list()).workers.length;
	const { scanners } = await backend.admin.scanners();
	for (const { name, errors, parked } of scanners)
		if (errors > 0 || parked > 0) problems.push(`duty ${name}: ${errors} errors, ${parked} put aside just now`);
}

/** Reads every record through a back-up; the index is not in one. */
async function readAll({ backend }: FlowFabric, terminal: Terminal, { facts, problems }: Findings): Promise<void> {
	const tally = emptyTally();
	const badEvents: string[] = [];
	for await (const text of backend.admin.backup()) {
		const line = JSON.parse(text) as Line;
		if ("flowfabric" in line) {
			facts["format"] = line.format;
			facts["partitions"] = line.partitions;
		} else if ("record" in line) {
			count(tally, line.partition, line.record, line.doc);
			if (tally.total % 500 === 0) terminal.status(`${tally.total} records looked over`);
		} else if ("event" in line) {
			const problem = problemOfEvent({ owner: line.event, log: line.log ?? "", at: line.at, body: line.body });
			if (problem) badEvents.push(oneLine(`an event of ${line.event} in partition ${line.partition}: ${problem}`));
		}
	}
	terminal.status("");
	facts["records"] = tally.records;
	facts["document bytes per execution"] = bytesPerExecution(tally, tally.documentBytes);
	facts["corrupt records"] = tally.corrupt.count;
	for (const problem of corruptProblems(tally)) problems.push(problem);
	for (const problem of badEvents.slice(0, MOST_SAMPLES)) problems.push(problem);
	for (const line of more("unreadable events", badEvents.length - MOST_SAMPLES)) problems.push(line);
}

async function complaintIn(response: Response): Promise<string> {
	const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
	return body?.error?.message ?? `status ${response.status}`;
}
