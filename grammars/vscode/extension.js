// Starts `spacelang lsp`, and connects it with the editor.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const settings = workspace.getConfiguration("spacelang");
  const [command, ...args] = settings.get("command");
  client = new LanguageClient(
    "spacelang",
    "spacelang",
    { command, args, transport: TransportKind.stdio },
    {
      documentSelector: [{ language: "spacelang" }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.space") },
      initializationOptions: { bind: settings.get("bind"), allow: settings.get("allow") },
    },
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
