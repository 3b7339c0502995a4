import type { Command } from "commander";
import { withJson } from "../connection.ts";
import { examples, type Frame } from "../frame.ts";
import { serverParts } from "../server-parts.ts";
import { SERVER_SETTINGS } from "../settings/server-settings.ts";
import { addFlags, readSettings } from "../settings/setting.ts";
import { askedToStop, closeInTime } from "../stopping.ts";

export function addServe(program: Command, frame: Frame): void {
	const command = program
		.command("serve")
		.summary("run a server")
		.description(
			"Runs a server and its engine on a store until it is asked to stop (Ctrl-C, SIGTERM); a second signal ends it at once.",
		);
	withJson(addFlags(command, SERVER_SETTINGS)).action(async (flags: { json?: boolean }) => {
		const settings = readSettings(SERVER_SETTINGS, flags, frame.env);
		const asked = askedToStop(frame);
		const [{ host }, { logTo }] = await serverParts();
		const log = logTo(frame.terminal.output, flags.json ? { ...settings, logFormat: "json" } : settings);
		const hosted = await host(settings, log);
		await asked;
		log.info("stopping");
		await closeInTime(frame, () => hosted.close());
	});
	examples(command, [
		"flowfabric serve",
		"flowfabric serve --store sqlite:/var/lib/flowfabric/work.db --log-format json",
		"FF_API_TOKEN=$(cat token) flowfabric serve --listen 0.0.0.0:9090",
	]);
}
