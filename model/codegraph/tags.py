"""What counts as a definition, as tree-sitter queries of ours.

Captures: `function` (a method where its innermost enclosing definition is a class or an `impl`),
`method`, `class` (whatever defines a type with a body), `name`; `scope` is a name to put before.
`impl` and `namespace` are no definitions but lend their names; `outer` widens the next one in it.
"""

from typing import Final

PYTHON: Final = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(decorated_definition) @outer
"""

JAVASCRIPT: Final = """
(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(export_statement) @outer
(lexical_declaration) @outer
(variable_declaration) @outer
"""

TYPESCRIPT: Final = """
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(class name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(internal_module name: (_) @name) @namespace
(function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(export_statement) @outer
(lexical_declaration) @outer
(variable_declaration) @outer
"""

JAVA: Final = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
"""

GO: Final = """
(type_declaration (type_spec name: (type_identifier) @name)) @class
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (type_identifier) @scope))
  name: (field_identifier) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration
  type: (pointer_type (type_identifier) @scope))) name: (field_identifier) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration
  type: (generic_type type: (type_identifier) @scope))) name: (field_identifier) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration
  type: (pointer_type (generic_type type: (type_identifier) @scope))))
  name: (field_identifier) @name) @method
(method_declaration name: (field_identifier) @name) @method
"""

RUST: Final = """
(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
(mod_item name: (identifier) @name) @namespace
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
"""

C: Final = """
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)))) @function
"""

_MEMBER: Final = "declarator: [(field_identifier) (destructor_name) (operator_name)] @name"
_MEMBER_OUTSIDE: Final = "declarator: (qualified_identifier) @name"

CPP: Final = f"""{C}
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(template_declaration) @outer
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (function_declarator {_MEMBER})) @method
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator {_MEMBER}))) @method
(function_definition declarator: (reference_declarator (function_declarator {_MEMBER}))) @method
(function_definition declarator: (function_declarator {_MEMBER_OUTSIDE})) @method
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator {_MEMBER_OUTSIDE}))) @method
(function_definition declarator: (reference_declarator
  (function_declarator {_MEMBER_OUTSIDE}))) @method
"""
