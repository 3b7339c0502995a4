import type { Command } from "commander";
import { FlowFabric } from "../../library/flowfabric.ts";
import { VERSION } from "../../server/version.ts";
import { withoutPassword } from "../../store/shown-url.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { withJson } from "../connection.ts";
import { type DemoKinds, demoWorker } from "../dev/demo-worker.ts";
import { submitSamples } from "../dev/samples.ts";
import { DemoShow } from "../dev/show.ts";
import { printFields } from "../format/table.ts";
import { historyOf } from "../history.ts";
import type { Hosted, ServerSettings } from "../hosting.ts";
import { serverParts } from "../server-parts.ts";
import { SERVER_SETTINGS } from "../settings/server-settings.ts";
import { addFlags, readSettings } from "../settings/setting.ts";
import { unknownVariables } from "../settings/unknown-variables.ts";
import { askedToStop, closeInTime } from "../stopping.ts";
import type { Terminal } from "../terminal.ts";

/** A demonstration keeps its samples out of the file of `serve`, and logs only warnings: it is there to be watched. */
const DEV_SETTINGS = {
	...SERVER_SETTINGS,
	store: { ...SERVER_SETTINGS.store, byDefault: "sqlite:./flowfabric-dev.db" },
	logLevel: { ...SERVER_SETTINGS.logLevel, byDefault: "warn" },
} as const;

export function addDev(program: Command, context: CommandContext): void {
	const command = program
		.command("dev")
		.summary("a server with a demo worker and sample work, to try things out")
		.description(
			"Runs a server on an embedded store with a worker in the same process, shows sample work being done, and goes on until Ctrl-C.",
		);
	withJson(addFlags(command, DEV_SETTINGS)).action(async (flags: { json?: boolean }) => {
		const { terminal } = context;
		const settings = readSettings(DEV_SETTINGS, flags, context.env);
		const asked = askedToStop(context);
		const [{ host }, { logTo }] = await serverParts();
		const log = logTo(terminal.errors, settings);
		for (const warning of unknownVariables(context.env)) log.warn(warning);
		const hosted = await host(settings, log);
		const ff = new FlowFabric<DemoKinds>(hosted.backend);
		const show = new DemoShow(terminal, flags.json === true);
		if (flags.json) terminal.jsonLine({ listening: { address: hosted.address, docs: `${hosted.address}/docs` } });
		else printHead(terminal, settings, hosted);
		const samples = await submitSamples(ff);
		show.expect(samples);
		const over = new AbortController();
		void asked.then(() => over.abort());
		const shown = Promise.all(samples.map(({ id }) => showHistory(ff, id, show, over.signal)));
		const worker = demoWorker(ff, show, log);
		await worker.start();
		// A sample that is cut short by Ctrl-C is no fault.
		await Promise.race([
			shown.catch((error: unknown) => (over.signal.aborted ? undefined : Promise.reject(error))),
			asked,
		]);
		if (!over.signal.aborted) {
			if (flags.json) terminal.jsonLine({ ready: true });
			else printTail(terminal, hosted.address, settings.apiToken !== undefined || settings.tokens !== undefined);
		}
		await asked;
		await closeInTime(context, async () => {
			await worker.stop({ graceMs: 2000 });
			await hosted.close();
		});
		if (flags.json) return;
		const keeps = !settings.store.startsWith("memory:");
		terminal.print();
		terminal.print(`Stopped.${keeps ? " Nothing that was accepted is lost: start it again and it goes on." : ""}`);
	});
	examples(command, ["flowfabric dev", "flowfabric dev --store memory: --listen 127.0.0.1:0"]);
}

/** Tells every event of one sample until it has ended. */
async function showHistory(ff: FlowFabric<DemoKinds>, id: string, show: DemoShow, signal: AbortSignal): Promise<void> {
	for await (const event of historyOf(ff, id, { follow: true, signal })) show.event(event);
	if (!signal.aborted) show.sampleResult(id, await ff.result(id));
}

function printHead(terminal: Terminal, { store }: ServerSettings, { address }: Hosted): void {
	terminal.print(`${terminal.style("bold", `FlowFabric ${VERSION}`)} with a worker and sample work`);
	terminal.print();
	printFields(terminal, [
		["server", address],
		["API docs", `${address}/docs`],
		["store", withoutPassword(store)],
	]);
	terminal.print();
}

function printTail(terminal: Terminal, address: string, guarded: boolean): void {
	const header = guarded ? ' -H "authorization: Bearer $FF_TOKEN"' : "";
	const flags = address === "http://127.0.0.1:9090" ? "" : ` --url ${address}`;
	for (const line of [
		"",
		`${terminal.style("bold", "Try it")} in another terminal; the worker here knows greet, flaky and slow:`,
		"",
		`  curl -s ${address}/v1/executions${header} -H "content-type: application/json" -d '{"kind": "greet", "input": {"name": "you"}}'`,
		`  curl -s "${address}/v1/executions?limit=5"${header}`,
		`  npx flowfabric submit slow '{"steps": 20}' --wait${flags}`,
		`  npx flowfabric list${flags}`,
		"",
		`Ctrl-C stops it.`,
	])
		terminal.print(line);
}
