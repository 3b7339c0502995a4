import { atServer, type ServerFlags } from "../connection.ts";
import { describeError, type Frame } from "../frame.ts";
import { CLIENT_SETTINGS } from "../settings/client-settings.ts";
import { readSettings } from "../settings/setting.ts";
import type { Findings } from "./findings.ts";

const PATIENCE_MS = 5000;

/** Looks a running server over through what it tells everybody, and what it tells the holder of the token. */
export async function examineServer(frame: Frame, flags: ServerFlags): Promise<Findings> {
	const { url } = readSettings(CLIENT_SETTINGS, flags, frame.env);
	const findings: Findings = { facts: { server: url }, problems: [] };
	const { facts, problems } = findings;
	const startedAt = performance.now();
	try {
		const ready = await ask(url, "/readyz");
		facts["answered in ms"] = Math.round(performance.now() - startedAt);
		facts["ready"] = ready.ok ? "yes" : "no";
		if (!ready.ok) problems.push(`the server is there but not ready: ${await complaintIn(ready)}`);
	} catch (error) {
		problems.push(`the server cannot be reached: ${reasonOf(error)}`);
		frame.end("unreachable");
		return findings;
	}
	const described = await ask(url, "/openapi.json");
	if (described.ok) facts["version"] = ((await described.json()) as { info: { version: string } }).info.version;
	await atServer(frame, flags, async ({ backend }) => {
		try {
			const { lanes } = await backend.lanes.list();
			facts["lanes"] = lanes.length;
			const executions: Record<string, number> = {};
			for (const { depth } of lanes)
				for (const [state, count] of Object.entries(depth)) executions[state] = (executions[state] ?? 0) + count;
			facts["executions"] = executions;
			const { scanners } = await backend.admin.scanners();
			for (const { name, errors, parked } of scanners)
				if (errors > 0 || parked > 0) problems.push(`duty ${name}: ${errors} errors, ${parked} put aside just now`);
		} catch (error) {
			problems.push(`the token does not tell more: ${describeError(error).line}`);
		}
	});
	return findings;
}

const ask = (url: string, path: string): Promise<Response> =>
	fetch(new URL(path, url), { signal: AbortSignal.timeout(PATIENCE_MS) });

async function complaintIn(response: Response): Promise<string> {
	const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
	return body?.error?.message ?? `status ${response.status}`;
}

/** What `fetch` throws says little; its cause says more. */
function reasonOf(error: unknown): string {
	const cause = (error as { cause?: { code?: string; message?: string } }).cause;
	return cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
}
