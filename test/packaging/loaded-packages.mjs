// Loaded with `--import` before a program: writes the packages it has loaded to standard error when it ends.
import { createRequire, register } from "node:module";
import { MessageChannel } from "node:worker_threads";

const packages = new Set();
const note = (place) => {
	const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place.replaceAll("\\", "/"));
	if (found) packages.add(found[1]);
};

const hooks = `
	let port;
	export const initialize = (data) => { port = data.port; };
	export async function load(url, context, nextLoad) {
		port.postMessage(url);
		return nextLoad(url, context);
	}
`;
const { port1, port2 } = new MessageChannel();
port1.on("message", note);
port1.unref();
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { port: port2 }, transferList: [port2] });

const require = createRequire(import.meta.url);
const { receiveMessageOnPort } = require("node:worker_threads");
process.on("exit", () => {
	for (let message = receiveMessageOnPort(port1); message; message = receiveMessageOnPort(port1)) note(message.message);
	for (const path of Object.keys(require.cache)) note(path);
	process.stderr.write(`loaded: ${JSON.stringify([...packages].sort())}\n`);
});
