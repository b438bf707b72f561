#include "program.hpp"

int main(int argc, char** argv) {
  using namespace ellice::cli;
  return run_program(argc, argv,
                     {{.add = add_demo},
                      {.add = add_schema},
                      {.add = add_train},
                      {.add = add_import},
                      {.add = add_explain},
                      {.add = add_verify},
                      {.add = add_compare},
                      {.add = add_frontier},
                      {.add = add_shapes},
                      {.add = add_epsilon},
                      {.add = add_calibrate},
                      {.add = add_serve},
                      {.add = add_evaluate},
                      {.add = add_study},
                      {.add = add_options}});
}
